// SPDX-License-Identifier: BSD-3-Clause
//
// library.cpp - see openfoam.hpp.
#include "openfoam.hpp"

namespace Foam {

bool Time::run() const { return index_ < 3; }
Time& Time::operator++() {
  name_ = std::to_string(0.5 * ++index_);
  value_ = 0.5 * index_;
  return *this;
}
#if VERSION == 10
word Time::timeName() const { return name_; }
#endif

#if OPENCFD
#if VERSION == 2312
profilingTrigger::profilingTrigger(const std::string&) {}
#endif
profilingTrigger::~profilingTrigger() { stop(); }
void profilingTrigger::stop() { information_ = nullptr; }
bool profilingTrigger::possible() noexcept { return false; }
void profilingTrigger::enter(const std::string&) { information_ = nullptr; }
#endif

namespace fv {
template <class Type>
tmp<fvMatrix<Type>> EulerDdtScheme<Type>::fvmDdt(
    const GeometricField<Type, fvPatchField, volMesh>& field) {
  return {&field};
}
template <class Type, class GType>
tmp<fvMatrix<Type>> gaussLaplacianScheme<Type, GType>::fvmLaplacian(
    const GeometricField<GType, fvsPatchField, surfaceMesh>&,
    const GeometricField<Type, fvPatchField, volMesh>& field) {
  return {&field};
}
template class EulerDdtScheme<Vector<scalar>>;
template class gaussLaplacianScheme<scalar, scalar>;
}  // namespace fv

solverPerformance GAMGSolver::solve(Field<scalar>&, const Field<scalar>&,
                                    const unsigned char component) const {
  return {{1, 2, 3, double(component)}};
}

#if OPENCFD
void fvMesh::movePoints(const Field<Vector<scalar>>&) {}
bool dynamicRefineFvMesh::update() { return true; }
tmp<volVectorField> constrainHbyA(const tmp<volVectorField>& flux, const volVectorField&,
                                  const volScalarField&) {
  return {&flux};
}
#else
tmp<Field<scalar>> fvMesh::movePoints(const Field<Vector<scalar>>&) { return {this}; }
bool fvMeshTopoChangers::refiner::update() { return true; }
#endif
#if VERSION == 12
void constrainHbyA(volVectorField&, const volVectorField&, const volScalarField&) {}
#endif

#if OPENCFD
template <class BasicModel>
void kOmegaSSTBase<BasicModel>::correct() {}
template class kOmegaSSTBase<RASModel<momentumTransportModel>>;
template <class BasicModel>
tmp<fvMatrix<Vector<scalar>>> linearViscousStress<BasicModel>::divDevRhoReff(
    volVectorField&) const {
  return {this};
}
template <class ReactionThermo, class ThermoType>
scalar StandardChemistryModel<ReactionThermo, ThermoType>::solve(const scalar deltaT) {
  return 2 * deltaT;
}
template class StandardChemistryModel<rhoThermo, pureMixture>;
template <class ReactionThermo>
void combustionModels::laminar<ReactionThermo>::correct() {}
template class combustionModels::laminar<rhoThermo>;
#else
template <class Model, class BasicModel>
void kOmegaSST<Model, BasicModel>::correct() {}
template class kOmegaSST<RASModel<momentumTransportModel>, momentumTransportModel>;
template <class BasicModel>
tmp<fvMatrix<Vector<scalar>>> linearViscousStress<BasicModel>::divDevTau(volVectorField&) const {
  return {this};
}
template <class ThermoType>
scalar chemistryModel<ThermoType>::solve(const scalar deltaT) {
  return 2 * deltaT;
}
template class chemistryModel<pureMixture>;
void combustionModels::laminar::correct() {}
#endif
template class linearViscousStress<RASModel<momentumTransportModel>>;

#if VERSION == 12
template <class BaseThermo>
void RhoFluidThermo<BaseThermo>::correct() {}
template class RhoFluidThermo<rhoThermo>;
#else
template <class BasicRhoThermo, class MixtureType>
void heRhoThermo<BasicRhoThermo, MixtureType>::correct() {}
template class heRhoThermo<rhoThermo, pureMixture>;
#endif

template <class RdeltaTType>
void MULES::limit(const RdeltaTType&, Field<scalar>& psi, Numbers, Numbers, Numbers, Numbers,
                  Numbers, Numbers, Numbers, Numbers, Numbers eleventh, int twelfth) {
  psi.value = eleventh.value + twelfth;
}
template <class RdeltaTType>
void MULES::explicitSolve(const RdeltaTType&, Field<scalar>& psi, const scalar psiMax,
                          const scalar psiMin) {
  psi.value = psiMax - psiMin;
}
template <class RdeltaTType>
void MULES::limiter(const RdeltaTType&, Field<scalar>& psi, int, int, int, int, int, int, int, int,
                    int, int, int, int, int, int, int last) {
  psi.value = last;
}
template void MULES::limiter(const scalar&, Field<scalar>&, int, int, int, int, int, int, int, int,
                             int, int, int, int, int, int, int);
template void MULES::limit(const scalar&, Field<scalar>&, Numbers, Numbers, Numbers, Numbers,
                           Numbers, Numbers, Numbers, Numbers, Numbers, int);
template void MULES::explicitSolve(const scalar&, Field<scalar>&, const scalar, const scalar);

void Mixture::correct() {}

}  // namespace Foam
