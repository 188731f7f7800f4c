# Finds the Python that modules are built for: the one that builds or, with PERFIELD_PYTHON_HEADERS, one of
# another version or processor, of which only the headers are there (`make wheels`). Defines the targets
# Python::Module and Python::Python, Python_Development.Embed_FOUND, perfield_module_suffix, and
# perfield_libpython_options, for linking with Python::Python.
set(PERFIELD_PYTHON_HEADERS "" CACHE PATH "folder of Python.h and pyconfig.h; empty: those of the Python that builds")
if(NOT PERFIELD_PYTHON_HEADERS)
  find_package(Python REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.Embed)
  set(perfield_module_suffix .${Python_SOABI}.so)
  set(perfield_libpython_options -Wl,-z,defs)
  return()
endif()

file(STRINGS ${PERFIELD_PYTHON_HEADERS}/patchlevel.h version REGEX "PY_M[A-Z]*_VERSION")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+).*" "\\1.\\2" version "${version}")
string(REPLACE . "" digits ${version})
set(perfield_module_suffix .cpython-${digits}-${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.so)
set(Python_Development.Embed_FOUND ON)
set(perfield_libpython_options -Wl,--no-as-needed) # nothing is found in it, but it is to be loaded
if(NOT TARGET perfield_libpython) # stands for that Python's, which is loaded instead
  add_library(perfield_libpython SHARED ${CMAKE_CURRENT_LIST_DIR}/libpython.c)
  set_target_properties(perfield_libpython PROPERTIES OUTPUT_NAME python${version} SOVERSION 1.0)
endif()
foreach(part Module Python)
  if(NOT TARGET Python::${part})
    add_library(Python::${part} INTERFACE IMPORTED)
    target_include_directories(Python::${part} SYSTEM INTERFACE ${PERFIELD_PYTHON_HEADERS})
  endif()
endforeach()
target_link_libraries(Python::Python INTERFACE perfield_libpython)
