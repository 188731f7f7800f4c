# SPDX-License-Identifier: BSD-3-Clause
"""Runs readers and filters for ParaView. What goes wrong becomes a sentence in ParaView's output window."""

from __future__ import annotations

import importlib
import traceback
from typing import Any

from vtkmodules.vtkCommonCore import vtkInformation, vtkOutputWindow
from vtkmodules.vtkCommonDataModel import vtkDataObject
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

from perfield.paraview.first_look import watch

# Errors whose text says what to do; any other is a fault of perfield.
OF_USER = (OSError, ValueError, ImportError)


def information(algorithm: Any, name: str, parameters: dict[str, Any]) -> None:
    """Gives ParaView the times of a reader. algorithm : vtkPythonProgrammableFilter. name : of its module."""
    about = algorithm.GetOutputInformation(0)
    about.Remove(Pipeline.TIME_STEPS())
    about.Remove(Pipeline.TIME_RANGE())
    try:
        times = _module(name).times(_file(algorithm), **parameters)
    except Exception as error:  # must not end ParaView
        _complain(error)
        return
    if times:
        about.Set(Pipeline.TIME_STEPS(), times, len(times))
        about.Set(Pipeline.TIME_RANGE(), [times[0], times[-1]], 2)


def data(algorithm: Any, name: str, parameters: dict[str, Any]) -> None:
    """Computes the output of a reader or filter. algorithm, name : as for `information`."""
    output = algorithm.GetOutputDataObject(0)
    output.Initialize()
    try:
        watch()
        module = _module(name)
        if module.PROXY.file:
            time = _value(algorithm.GetOutputInformation(0), Pipeline.UPDATE_TIME_STEP())
            made = module.make(_file(algorithm), time, **parameters)
        else:
            count = algorithm.GetNumberOfInputConnections(0)
            inputs = [algorithm.GetInputDataObject(0, number) for number in range(count)]
            time = _value(inputs[0].GetInformation(), vtkDataObject.DATA_TIME_STEP())
            made = module.make(inputs, **parameters)
        output.ShallowCopy(made)
        if time is not None:
            output.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), time)
    except Exception as error:  # must not end ParaView
        output.Initialize()
        _complain(error)


def warn(sentence: str) -> None:
    """Shows a note in ParaView's output window."""
    vtkOutputWindow.GetInstance().DisplayWarningText(f"perfield: {sentence}\n")


def _module(name: str) -> Any:
    return importlib.import_module(f"perfield.paraview.{name}")


def _value(about: vtkInformation, key: Any) -> float | None:
    return about.Get(key) if about.Has(key) else None


def _file(algorithm: Any) -> str:
    return algorithm.GetCheckNeedsUpdateScript() or ""


def _complain(error: Exception) -> None:
    text = str(error)
    if not isinstance(error, OF_USER) or not text:
        text = f"this is a fault of perfield, please report it:\n{traceback.format_exc()}"
    vtkOutputWindow.GetInstance().DisplayErrorText(f"perfield: {text}\n")
