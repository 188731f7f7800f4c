# SPDX-License-Identifier: BSD-3-Clause
"""FEniCSx 0.5: the heat equation on a unit square, written every second step to out/u.pvd or out/u.xdmf.

python heat.py pvd
"""

import sys

import numpy as np
import ufl
from dolfinx import fem, io, mesh
from mpi4py import MPI
from petsc4py import PETSc

STEP = 0.01  # of time

world = MPI.COMM_WORLD
square = mesh.create_unit_square(world, 24, 24)
space = fem.FunctionSpace(square, ("CG", 1))
now, after = fem.Function(space), fem.Function(space)
now.name = "u"
now.interpolate(lambda x: np.exp(-20 * ((x[0] - 0.3) ** 2 + (x[1] - 0.5) ** 2)))
rank = fem.Function(fem.FunctionSpace(square, ("DG", 0)))
rank.name = "rank"
rank.x.array[:] = world.rank

u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
matrix = fem.petsc.assemble_matrix(
    fem.form(u * v * ufl.dx + STEP * ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx)
)
matrix.assemble()
right_side = fem.form(now * v * ufl.dx)
vector = fem.petsc.create_vector(right_side)
solver = PETSc.KSP().create(world)
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")

as_pieces = sys.argv[1] == "pvd"
out = io.VTKFile(world, "out/u.pvd", "w") if as_pieces else io.XDMFFile(world, "out/u.xdmf", "w")
if not as_pieces:
    out.write_mesh(square)
for step in range(6):
    with vector.localForm() as local:
        local.set(0)
    fem.petsc.assemble_vector(vector, right_side)
    vector.ghostUpdate(addv=PETSc.InsertMode.ADD_VALUES, mode=PETSc.ScatterMode.REVERSE)
    solver.solve(vector, after.vector)
    after.x.scatter_forward()
    now.x.array[:] = after.x.array
    if step % 2:
        out.write_function([now] if as_pieces else now, STEP * (step + 1))
        if not as_pieces:
            out.write_function(rank, STEP * (step + 1))
out.close()
