// SPDX-License-Identifier: BSD-3-Clause
//
// openfoam.hpp - a fake of newer OpenFOAMs, with the names and signatures of their public headers.
// VERSION: 2312, 2406 or 2506 of OpenCFD, 10, 11 or 12 of the OpenFOAM Foundation.
#pragma once

#include <string>
#include <utility>

#define OPENCFD (VERSION > 2000)

namespace Foam {

using label = int;
using scalar = double;
class word : public std::string {
 public:
  using std::string::string;
  word(const std::string& text) : std::string(text) {}
};
class dictionary {};
class polyTopoChangeMap {};
template <class Type>
class Vector {};
template <class Type>
class Field {
 public:
  Type value{};
};
template <class Type>
class List {};
class volMesh {};
class surfaceMesh {};
template <class Type>
class fvPatchField {};
template <class Type>
class fvsPatchField {};
template <class Type, template <class> class PatchField, class GeoMesh>
class GeometricField {};
using volScalarField = GeometricField<scalar, fvPatchField, volMesh>;
using volVectorField = GeometricField<Vector<scalar>, fvPatchField, volMesh>;
using surfaceScalarField = GeometricField<scalar, fvsPatchField, surfaceMesh>;

// An object that is returned in memory of the caller.
template <class Type>
struct tmp {
  const void* self;
  int value = 7;
  ~tmp() { value = -1; }
};
template <class Type>
class fvMatrix {};

// --- time and regions ---------------------------------------------------------------------------
template <class Type>
class dimensioned {
 protected:
  word name_;
  long dimensions_[7] = {};
  Type value_{};
};

class TimeState : public dimensioned<scalar> {
#if OPENCFD
 public:
  virtual ~TimeState() = default;
  const word& timeName() const noexcept { return name_; }
#endif
};

class objectRegistry {
 public:
  virtual ~objectRegistry() = default;
  word path{"a long name of a case"};
};

class Time : public objectRegistry, public TimeState {
 public:
  virtual bool run() const;
  virtual Time& operator++();
#if VERSION == 10
  virtual word timeName() const;
#elif VERSION == 11
  const word& timeName() const { return name_; }
#endif

 private:
  int index_ = 0;
};

#if OPENCFD
class profilingTrigger {
 public:
#if VERSION == 2312
  explicit profilingTrigger(const std::string& name);
#else
  template <class... Texts>
  explicit profilingTrigger(Texts&&... texts) {
    if (possible()) trigger(std::forward<Texts>(texts)...);
  }
#endif
  ~profilingTrigger();
  void stop();

 private:
  static bool possible() noexcept;
  void enter(const std::string& name);
  template <class... Texts>
  void trigger(std::string name, Texts&&... texts) {
    enter(((name += texts), ..., name));
  }
  void* information_ = nullptr;
};
#endif

// --- what solvers spend their time in -----------------------------------------------------------
namespace fv {
template <class Type>
class EulerDdtScheme {
 public:
  virtual ~EulerDdtScheme() = default;
  virtual tmp<fvMatrix<Type>> fvmDdt(const GeometricField<Type, fvPatchField, volMesh>&);
};
template <class Type, class GType>
class gaussLaplacianScheme {
 public:
  tmp<fvMatrix<Type>> fvmLaplacian(const GeometricField<GType, fvsPatchField, surfaceMesh>&,
                                   const GeometricField<Type, fvPatchField, volMesh>&);
};
}  // namespace fv

struct solverPerformance {
  double residual[4];
  ~solverPerformance() { residual[0] = -1; }
};
class GAMGSolver {
 public:
  virtual ~GAMGSolver() = default;
  virtual solverPerformance solve(Field<scalar>& psi, const Field<scalar>& source,
                                  const unsigned char component) const;
};

#if OPENCFD
class fvMesh {
 public:
  virtual ~fvMesh() = default;
  virtual void movePoints(const Field<Vector<scalar>>&);
};
class dynamicRefineFvMesh : public fvMesh {
 public:
  virtual bool update();
};
using Mesh = dynamicRefineFvMesh;
tmp<volVectorField> constrainHbyA(const tmp<volVectorField>&, const volVectorField&,
                                  const volScalarField&);
#else
class fvMesh {
 public:
  virtual ~fvMesh() = default;
  virtual tmp<Field<scalar>> movePoints(const Field<Vector<scalar>>&);
};
namespace fvMeshTopoChangers {
class refiner : public fvMesh {
 public:
  virtual bool update();
};
}  // namespace fvMeshTopoChangers
using Mesh = fvMeshTopoChangers::refiner;
#endif
#if VERSION == 12
void constrainHbyA(volVectorField&, const volVectorField&, const volScalarField&);
#endif

template <class BasicModel>
class RASModel {};
class momentumTransportModel {};
#if OPENCFD
template <class BasicModel>
class kOmegaSSTBase {
 public:
  virtual ~kOmegaSSTBase() = default;
  virtual void correct();
};
using Turbulence = kOmegaSSTBase<RASModel<momentumTransportModel>>;
#else
template <class Model, class BasicModel>
class kOmegaSST {
 public:
  virtual ~kOmegaSST() = default;
  virtual void correct();
};
using Turbulence = kOmegaSST<RASModel<momentumTransportModel>, momentumTransportModel>;
#endif

template <class BasicModel>
class linearViscousStress {
 public:
  virtual ~linearViscousStress() = default;
#if OPENCFD
  virtual tmp<fvMatrix<Vector<scalar>>> divDevRhoReff(volVectorField& U) const;
#else
  virtual tmp<fvMatrix<Vector<scalar>>> divDevTau(volVectorField& U) const;
#endif
};

class rhoThermo {};
class pureMixture {};
#if VERSION == 12
template <class BaseThermo>
class RhoFluidThermo {
 public:
  virtual ~RhoFluidThermo() = default;
  virtual void correct();
};
using Thermo = RhoFluidThermo<rhoThermo>;
#else
template <class BasicRhoThermo, class MixtureType>
class heRhoThermo {
 public:
  virtual ~heRhoThermo() = default;
  virtual void correct();
};
using Thermo = heRhoThermo<rhoThermo, pureMixture>;
#endif

#if OPENCFD
template <class ReactionThermo, class ThermoType>
class StandardChemistryModel {
 public:
  virtual ~StandardChemistryModel() = default;
  virtual scalar solve(const scalar deltaT);
};
using Chemistry = StandardChemistryModel<rhoThermo, pureMixture>;
#else
template <class ThermoType>
class chemistryModel {
 public:
  virtual ~chemistryModel() = default;
  virtual scalar solve(const scalar deltaT);
};
using Chemistry = chemistryModel<pureMixture>;
#endif

namespace combustionModels {
#if OPENCFD
template <class ReactionThermo>
class laminar {
 public:
  virtual ~laminar() = default;
  virtual void correct();
};
#else
class laminar {
 public:
  virtual ~laminar() = default;
  virtual void correct();
};
#endif
}  // namespace combustionModels

#if OPENCFD
using Combustion = combustionModels::laminar<rhoThermo>;
#else
using Combustion = combustionModels::laminar;
#endif

// Functions with more arguments than go into registers, and with several numbers.
namespace MULES {
using Numbers = const Field<scalar>&;
template <class RdeltaTType>
void limit(const RdeltaTType&, Field<scalar>& psi, Numbers, Numbers, Numbers, Numbers, Numbers,
           Numbers, Numbers, Numbers, Numbers eleventh, int twelfth);
template <class RdeltaTType>
void explicitSolve(const RdeltaTType&, Field<scalar>& psi, const scalar psiMax,
                   const scalar psiMin);
// More than a replacement passes on: it is left alone.
template <class RdeltaTType>
void limiter(const RdeltaTType&, Field<scalar>& psi, int, int, int, int, int, int, int, int, int,
             int, int, int, int, int, int last);
}  // namespace MULES

#if VERSION == 11 || VERSION == 12
class incompressibleTwoPhaseVoFMixture {
 public:
  virtual ~incompressibleTwoPhaseVoFMixture() = default;
  virtual void correct();
};
using Mixture = incompressibleTwoPhaseVoFMixture;
#else
class immiscibleIncompressibleTwoPhaseMixture {
 public:
  virtual ~immiscibleIncompressibleTwoPhaseMixture() = default;
  virtual void correct();
};
using Mixture = immiscibleIncompressibleTwoPhaseMixture;
#endif

}  // namespace Foam
