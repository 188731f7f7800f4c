// SPDX-License-Identifier: BSD-3-Clause
//
// solver.cpp - a solver of the fake OpenFOAM: calls each function once in each of three steps, and
// fails if a call does not return what it returns otherwise.
#include <memory>

#include "openfoam.hpp"

using namespace Foam;

namespace Foam {
extern template class fv::EulerDdtScheme<Vector<scalar>>;
extern template class fv::gaussLaplacianScheme<scalar, scalar>;
extern template class linearViscousStress<RASModel<momentumTransportModel>>;
#if OPENCFD
extern template class kOmegaSSTBase<RASModel<momentumTransportModel>>;
extern template class StandardChemistryModel<rhoThermo, pureMixture>;
extern template class combustionModels::laminar<rhoThermo>;
#else
extern template class kOmegaSST<RASModel<momentumTransportModel>, momentumTransportModel>;
extern template class chemistryModel<pureMixture>;
#endif
extern template void MULES::limit(const scalar&, Field<scalar>&, MULES::Numbers, MULES::Numbers,
                                  MULES::Numbers, MULES::Numbers, MULES::Numbers, MULES::Numbers,
                                  MULES::Numbers, MULES::Numbers, MULES::Numbers, int);
extern template void MULES::limiter(const scalar&, Field<scalar>&, int, int, int, int, int, int,
                                    int, int, int, int, int, int, int, int, int);
extern template void MULES::explicitSolve(const scalar&, Field<scalar>&, const scalar,
                                          const scalar);
#if VERSION == 12
extern template class RhoFluidThermo<rhoThermo>;
#else
extern template class heRhoThermo<rhoThermo, pureMixture>;
#endif
}  // namespace Foam

template <class Type>
std::unique_ptr<Type> make() {
  return std::make_unique<Type>();
}

int main() {
  Time time;
  volScalarField p;
  volVectorField U;
  surfaceScalarField phi;
  Field<scalar> x;
  const auto ddt = make<fv::EulerDdtScheme<Vector<scalar>>>();
  fv::gaussLaplacianScheme<scalar, scalar> laplacian;
  const auto linear = make<GAMGSolver>();
  const auto mesh = make<Mesh>();
  const auto turbulence = make<Turbulence>();
  const auto stress = make<linearViscousStress<RASModel<momentumTransportModel>>>();
  const auto thermo = make<Thermo>();
  const auto chemistry = make<Chemistry>();
  const auto combustion = make<Combustion>();
  const auto mixture = make<Mixture>();
  const auto check = [](bool right) {
    if (!right) throw "a call returned something else";
  };
  while (time.run()) {
    ++time;
#if OPENCFD
    profilingTrigger trigger(std::string("fvMatrix::solve.p"));
    const tmp<volVectorField> flux{nullptr};
    check(constrainHbyA(flux, U, p).self == &flux);
    mesh->movePoints({});
    check(stress->divDevRhoReff(U).self == stress.get());
#else
    check(mesh->movePoints({}).self == mesh.get());
    check(stress->divDevTau(U).self == stress.get());
#endif
#if VERSION == 12
    constrainHbyA(U, U, p);
#endif
    check(ddt->fvmDdt(U).self == &U);
    check(laplacian.fvmLaplacian(phi, p).value == 7);
    check(linear->solve(x, x, 4).residual[3] == 4);
    check(mesh->update());
    turbulence->correct();
    thermo->correct();
    check(chemistry->solve(0.25) == 0.5);
    combustion->correct();
    mixture->correct();
    MULES::limit(1.0, x, x, x, x, x, x, x, x, x, Field<scalar>{11}, 12);
    check(x.value == 23);
    MULES::limiter(1.0, x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    check(x.value == 15);
    MULES::explicitSolve(1.0, x, 5, 2);
    check(x.value == 3);
  }
}
