# SPDX-License-Identifier: BSD-3-Clause
"""Prints scopes.def from the OpenFOAM libraries of this machine.

`python list_scopes.py /usr/lib/libOpenFOAM.so /usr/lib/libfiniteVolume.so ... > scopes.def`

A scope is an exported function that a solver spends time in: virtual, or called across libraries. The rules
below choose them by their readable names. Needs nm and c++filt.
"""

from __future__ import annotations

import re
import subprocess
import sys

FIELD = r"(double|Foam::Vector<double>)"
# What the function returns: an object that the caller makes room for (tmp, autoPtr, solverPerformance), a
# number (and takes one), or a word or nothing (WORDS: it takes up to ten words, else five with `this`).
OBJECT, NUMBER, WORD, WORDS = "OBJECT", "NUMBER", "WORD", "WORDS"
RULES = [
    # assembly
    ("fvm::ddt", OBJECT, rf"Foam::fv::\w+<{FIELD} >::fvmDdt\(.*"),
    ("fvm::div", OBJECT, rf"Foam::fv::\w+<{FIELD} >::fvmDiv\(.*"),
    ("fvm::laplacian", OBJECT, rf"Foam::fv::\w+<{FIELD}, .*>::fvmLaplacian\(.*"),
    ("fvc::ddt", OBJECT, rf"Foam::fv::\w+<{FIELD} >::fvcDdt\(.*"),
    ("fvc::ddtCorr", OBJECT, rf"Foam::fv::\w+<{FIELD} >::fvcDdt(Phi|Uf)Corr\(.*"),
    ("fvc::div", OBJECT, rf"Foam::fv::\w+<{FIELD} >::fvcDiv\(.*"),
    ("fvc::laplacian", OBJECT, rf"Foam::fv::\w+<{FIELD}, .*>::fvcLaplacian\(.*"),
    ("fvc::grad", OBJECT, r"Foam::fv::\w+<.*>::calcGrad\(.*"),
    ("fvc::snGrad", OBJECT, rf"Foam::fv::snGradScheme<{FIELD} >::snGrad\(.*\) const"),
    ("fvc::interpolate", OBJECT, rf"Foam::limitedSurfaceInterpolationScheme<{FIELD} >::weights\(.*"),
    (
        "fvc::interpolate",
        OBJECT,
        rf"Foam::surfaceInterpolationScheme<{FIELD} >::(interpolate|dotInterpolate)\(.*\) const",
    ),
    ("fvMatrix::H", OBJECT, rf"Foam::fvMatrix<{FIELD} >::H\(\) const"),
    ("fvMatrix::flux", OBJECT, rf"Foam::fvMatrix<{FIELD} >::flux\(\) const"),
    ("constrainHbyA", OBJECT, r"Foam::constrainHbyA\(.*"),
    ("correctUf", WORD, r"Foam::fvc::correctUf\(.*"),
    # solution
    ("\\1::solve", OBJECT, r"Foam::(GAMGSolver|P\w*|smoothSolver|diagonalSolver)::solve\(.*\) const"),
    ("GAMGAgglomeration::New", WORD, r"Foam::GAMGAgglomeration::New\(Foam::lduMatrix.*"),
    ("MULES::\\1", WORDS, r"void Foam::MULES::(explicitSolve|correct|limit(?:er)?(?:Corr)?)<.*"),
    # the mesh
    ("mesh::update", WORD, r"Foam::dynamic\w+::update\(\)"),
    ("mesh::refine", OBJECT, r"Foam::dynamicRefineFvMesh::refine\(.*"),
    ("mesh::unrefine", OBJECT, r"Foam::dynamicRefineFvMesh::unrefine\(.*"),
    ("mesh::selectRefineCells", OBJECT, r"Foam::dynamicRefineFvMesh::selectRefineCells\(.*"),
    ("mesh::mapFields", WORD, r"Foam::(fvMesh|dynamicRefineFvMesh)::mapFields\(.*"),
    ("mesh::movePoints", OBJECT, r"Foam::fvMesh::movePoints\(.*"),
    ("mesh::distribute", OBJECT, r"Foam::fvMeshDistribute::distribute\(.*"),
    ("mesh::motion", WORD, r"Foam::[\w:]+(MotionSolver|MeshMotion)::solve\(\)"),
    ("overset::update", WORD, r"Foam::cellCellStencils::\w+::update\(\)"),
    ("wallDist::correct", WORD, r"Foam::nearWallDist::(correct|calculate)\(\)"),
    ("wallDist::correct", WORD, r"Foam::wallDist::(movePoints\(\)|updateMesh\(.*)"),
    # models
    ("turbulence::correct", WORD, r"Foam::(RASModels|LESModels)::\w+<.*>::correct\(\)"),
    ("turbulence::correct", WORD, r"Foam::kOmegaSSTBase<.*>::correct\(\)"),
    ("turbulence::divDevReff", OBJECT, r"Foam::\w+<.*>::divDev(Rho)?Reff\(.*\) const"),
    ("thermo::correct", WORD, r"Foam::(he\w*Thermo<.*>|(twoPhase|multiphase)MixtureE?Thermo)::correct\(\)"),
    ("chemistry::solve", NUMBER, r"Foam::\w*ChemistryModel<.*>::solve\(double\)"),
    ("combustion::correct", WORD, r"Foam::combustionModels::\w+<.*>::correct\(\)"),
    ("radiation::correct", WORD, r"Foam::radiation::radiationModel::correct\(\)"),
    ("regionModel::evolve", WORD, r"Foam::regionModels::regionModel::evolve\(\)"),
    ("interface::correct", WORD, r"Foam::interfaceProperties::(correct|calculateK)\(\)"),
    ("interface::surfaceTensionForce", OBJECT, r"Foam::interfaceProperties::surfaceTensionForce\(\) const"),
    ("mixture::correct", WORD, r"Foam::incompressibleTwoPhaseMixture::calcNu\(\)"),
    ("mixture::correct", WORD, r"Foam::(\w*[iI]ncompressibleTwoPhase|multiphase)Mixture::correct\(\)"),
    ("mixture::solve", WORD, r"Foam::multiphaseMixture(Thermo)?::solve\(\)"),
    ("phaseSystem::\\1", WORD, r"Foam::(?:twoPhase|multiphase|phase)System::(correct|solve)\(\)"),
]  # fmt: skip
HEADER = """\
// SPDX-License-Identifier: BSD-3-Clause
//
// scopes.def - functions of OpenFOAM that are measured as regions: PERFIELD_SCOPE(what it returns,
// region, symbol). list_scopes.py printed it from the libraries of v1912; see its rules.
"""


def main() -> int:
    found: dict[str, tuple[str, str]] = {}
    for library in sys.argv[1:]:
        words = ["nm", "-D", "--defined-only", library]
        rows = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        symbols = [row.split()[2].split("@")[0] for row in rows if row.split()[1] in "TW"]
        names = subprocess.run(
            ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
        )
        for symbol, name in zip(symbols, names.stdout.splitlines()):
            spaced = re.sub(r"<(double)>", r"<\1 >", name.replace("Foam::Vector<double>", "VECTOR"))
            spaced = spaced.replace("VECTOR", "Foam::Vector<double>")
            for region, returns, rule in RULES:
                match = re.fullmatch(rule, spaced)
                if match:
                    found[symbol] = returns, match.expand(region)
                    break
    print(HEADER, end="")
    for symbol, (returns, region) in sorted(found.items(), key=lambda row: (row[1][1], row[0])):
        for label in sorted({symbol, symbol.replace("ListIiE", "ListIlE")}):
            print(f'PERFIELD_SCOPE({returns}, "{region}", {label})')
    return 0


if __name__ == "__main__":
    sys.exit(main())
