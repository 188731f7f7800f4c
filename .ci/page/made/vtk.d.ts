// SPDX-License-Identifier: BSD-3-Clause
// The bundle of vtk.js, which is checked where it comes from.
declare const vtk: any;
export default vtk;
