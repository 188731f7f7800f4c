// SPDX-License-Identifier: BSD-3-Clause
// The parts of vtk.js that the page uses. build.js makes one file of them, vtk.js, for perfield/serve/page.
import '@kitware/vtk.js/Rendering/OpenGL/Actor.js';
import '@kitware/vtk.js/Rendering/OpenGL/Camera.js';
import '@kitware/vtk.js/Rendering/OpenGL/PolyDataMapper.js';
import '@kitware/vtk.js/Rendering/OpenGL/Renderer.js';
import '@kitware/vtk.js/Rendering/OpenGL/Texture.js';

export { default as vtkActor } from '@kitware/vtk.js/Rendering/Core/Actor.js';
export { default as vtkDataArray } from '@kitware/vtk.js/Common/Core/DataArray.js';
export { default as vtkImageData } from '@kitware/vtk.js/Common/DataModel/ImageData.js';
export { default as vtkMapper } from '@kitware/vtk.js/Rendering/Core/Mapper.js';
export { default as vtkOpenGLRenderWindow } from '@kitware/vtk.js/Rendering/OpenGL/RenderWindow.js';
export { default as vtkPlane } from '@kitware/vtk.js/Common/DataModel/Plane.js';
export { default as vtkPolyData } from '@kitware/vtk.js/Common/DataModel/PolyData.js';
export { default as vtkRenderer } from '@kitware/vtk.js/Rendering/Core/Renderer.js';
export { default as vtkRenderWindow } from '@kitware/vtk.js/Rendering/Core/RenderWindow.js';
export { default as vtkRenderWindowInteractor } from '@kitware/vtk.js/Rendering/Core/RenderWindowInteractor.js';
export { default as vtkTexture } from '@kitware/vtk.js/Rendering/Core/Texture.js';
export { default as vtkTrackballCamera } from '@kitware/vtk.js/Interaction/Style/InteractorStyleTrackballCamera.js';
