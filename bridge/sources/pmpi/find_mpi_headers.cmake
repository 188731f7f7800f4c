# Sets openmpi_header and mpich_header: the mpi.h for whose programs wrappers are built, empty where
# there is none. Asks each MPI compiler that is found which mpi.h it takes, and which MPI that is.
# Nothing found here is cached: an MPI may be installed or removed between two builds of one folder.
#
# As a script, it prints what a build would find now, a line for each mpi.h with its checksum:
#   cmake -P find_mpi_headers.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(PERFIELD_MPICC "" CACHE STRING
    "the one MPI compiler to ask for its mpi.h (mpicc, cc, ...); empty: all that are found")
  set(PERFIELD_OPENMPI_HEADER "" CACHE FILEPATH "mpi.h of Open MPI; empty: found by its compiler")
  set(PERFIELD_MPICH_HEADER "" CACHE FILEPATH
    "mpi.h of MPICH or an MPI with its binary interface; empty: found by its compiler")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/ask_mpi_compiler.cmake)

if(PERFIELD_MPICC)
  set(candidates ${PERFIELD_MPICC})
else()
  set(candidates mpicc.openmpi ompi-mpicc mpicc.mpich mpich-mpicc mpicc
    /usr/lib64/openmpi/bin/mpicc /usr/lib64/mpich/bin/mpicc)
endif()
set(openmpi_header ${PERFIELD_OPENMPI_HEADER})
set(mpich_header ${PERFIELD_MPICH_HEADER})
foreach(candidate ${candidates})
  if(openmpi_header AND mpich_header)
    break()
  endif()
  unset(compiler CACHE)
  find_program(compiler ${candidate})
  if(compiler)
    perfield_ask_mpi_compiler(${compiler} family header)
    if(family AND NOT ${family}_header)
      set(${family}_header ${header})
    endif()
  endif()
endforeach()
unset(compiler CACHE)

foreach(family openmpi mpich)
  if(${family}_header AND NOT EXISTS ${${family}_header})
    string(TOUPPER ${family} upper)
    message(FATAL_ERROR "PERFIELD_${upper}_HEADER is ${${family}_header}, which does not exist. Set it "
      "to an mpi.h that does, or to nothing, and the MPI compilers are asked.")
  endif()
  if(${family}_header AND CMAKE_SCRIPT_MODE_FILE)
    file(SHA256 ${${family}_header} checksum)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${family} ${${family}_header} ${checksum}")
  elseif(${family}_header)
    message(STATUS "Wrappers for ${family}: ${${family}_header}")
  endif()
endforeach()

if(NOT openmpi_header AND NOT mpich_header AND NOT CMAKE_SCRIPT_MODE_FILE)
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
