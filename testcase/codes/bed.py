# SPDX-License-Identifier: BSD-3-Clause
"""FEniCSx 0.5: heat in a channel, with reactions in a round bed at its left end, into out/heat.pvd.

The reactions need many points of integration, so cells in the bed are expensive. FEniCSx gives each rank as
many cells as the others and cannot know that.

mpirun -n 4 /usr/bin/python3 bed.py
"""

import numpy as np
import ufl
from dolfinx import fem, io, mesh
from mpi4py import MPI
from petsc4py import PETSc

STEP, N_STEPS = 0.0002, 100
REACTIONS = ((40, 1.0), (80, 1.5), (200, 2.5))  # rate, barrier

world = MPI.COMM_WORLD
channel = mesh.create_rectangle(world, [(0, 0), (3, 1)], [480, 160])
cells = mesh.locate_entities(channel, 2, lambda x: np.hypot(x[0] - 0.45, x[1] - 0.5) < 0.4)
bed = mesh.meshtags(channel, 2, np.sort(cells), np.full(len(cells), 1, np.int32))
in_bed = ufl.Measure("dx", channel, subdomain_data=bed)(1, metadata={"quadrature_degree": 16})

space = fem.FunctionSpace(channel, ("CG", 1))
heat, after = fem.Function(space, name="heat"), fem.Function(space)
heat.x.array[:] = 0.3
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
matrix = fem.petsc.assemble_matrix(fem.form((u * v + STEP * ufl.inner(ufl.grad(u), ufl.grad(v))) * ufl.dx))
matrix.assemble()
burning = sum(rate * ufl.exp(-barrier / heat) for rate, barrier in REACTIONS)
right_side = fem.form(heat * v * ufl.dx + STEP * burning / (1 + burning / 20) * v * in_bed)
vector = fem.petsc.create_vector(right_side)
solver = PETSc.KSP().create(world)
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")

with io.VTKFile(world, "out/heat.pvd", "w") as file:
    for step in range(1, N_STEPS + 1):
        vector.set(0)
        fem.petsc.assemble_vector(vector, right_side)
        vector.ghostUpdate(addv=PETSc.InsertMode.ADD_VALUES, mode=PETSc.ScatterMode.REVERSE)
        solver.solve(vector, after.vector)
        after.x.scatter_forward()
        heat.x.array[:] = after.x.array
        if step % 50 == 0:
            file.write_function(heat, STEP * step)
