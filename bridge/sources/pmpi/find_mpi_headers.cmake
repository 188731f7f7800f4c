# Sets PERFIELD_OPENMPI_HEADER and PERFIELD_MPICH_HEADER: the mpi.h of each MPI to build wrappers for.
# Asks the MPI compilers which mpi.h they use, and asks that mpi.h which MPI it belongs to.
set(PERFIELD_MPICC "" CACHE STRING
  "the one MPI compiler to ask for its mpi.h (mpicc, cc, ...); empty: all found")
set(PERFIELD_OPENMPI_HEADER "" CACHE FILEPATH "mpi.h of Open MPI; empty: found by its compiler")
set(PERFIELD_MPICH_HEADER "" CACHE FILEPATH
  "mpi.h of MPICH or an MPI with its binary interface; empty: found by its compiler")

# Sets `family` to openmpi, mpich or nothing, and `header`.
function(perfield_ask_mpi_compiler compiler family header)
  set(${family} "" PARENT_SCOPE)
  set(question ${CMAKE_CURRENT_BINARY_DIR}/question.c)
  file(WRITE ${question} "#define OMPI_SKIP_MPICXX 1\n#define MPICH_SKIP_MPICXX 1\n#include <mpi.h>\n"
    "#if defined(OMPI_MAJOR_VERSION)\nperfield_family = openmpi;\n"
    "#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)\n"
    "perfield_family = mpich;\n#endif\n")
  execute_process(COMMAND ${compiler} -E ${question}
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0 AND answer MATCHES "perfield_family = ([a-z]+)")
    set(found ${CMAKE_MATCH_1})
    if(answer MATCHES "# [0-9]+ \"([^\"]*/mpi\\.h)\"")
      set(${header} ${CMAKE_MATCH_1} PARENT_SCOPE)
      set(${family} ${found} PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(PERFIELD_MPICC)
  set(candidates ${PERFIELD_MPICC})
else()
  set(candidates mpicc.openmpi ompi-mpicc mpicc.mpich mpich-mpicc mpicc
    /usr/lib64/openmpi/bin/mpicc /usr/lib64/mpich/bin/mpicc)
endif()
foreach(candidate ${candidates})
  if(PERFIELD_OPENMPI_HEADER AND PERFIELD_MPICH_HEADER)
    break()
  endif()
  unset(compiler)
  unset(compiler CACHE)
  find_program(compiler ${candidate})
  if(compiler)
    perfield_ask_mpi_compiler(${compiler} family header)
    if(family)
      string(TOUPPER ${family} upper)
      if(NOT PERFIELD_${upper}_HEADER)
        set(PERFIELD_${upper}_HEADER ${header} CACHE FILEPATH "" FORCE)
        message(STATUS "Wrappers for ${family}: ${header}")
      endif()
    endif()
  endif()
endforeach()
unset(compiler CACHE)

if(NOT PERFIELD_OPENMPI_HEADER AND NOT PERFIELD_MPICH_HEADER)
  set(sentence "the wrappers that count MPI calls are not built. Install the development files of an "
    "MPI, or set PERFIELD_MPICC to its compiler, or PERFIELD_OPENMPI_HEADER or PERFIELD_MPICH_HEADER "
    "to its mpi.h.")
  string(CONCAT sentence ${sentence})
  if(PERFIELD_MPICC)
    message(FATAL_ERROR "${PERFIELD_MPICC} finds no mpi.h of Open MPI or MPICH, so ${sentence}")
  else()
    message(WARNING "No mpi.h of Open MPI or MPICH was found, so ${sentence}")
  endif()
endif()
