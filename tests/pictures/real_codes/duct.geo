// SPDX-License-Identifier: BSD-3-Clause
// Gmsh: a duct, whose ends and walls have the numbers that duct.xml names.
SetFactory("OpenCASCADE");
Box(1) = {0,0,0,3,1,1};
Physical Volume("fluid") = {1};
Physical Surface("inlet", 11) = {1};
Physical Surface("outlet", 12) = {2};
Physical Surface("walls", 13) = {3,4,5,6};
Mesh.MeshSizeMax = 0.3;
