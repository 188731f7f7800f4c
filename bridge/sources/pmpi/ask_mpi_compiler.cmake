# perfield_ask_mpi_compiler(COMPILER FAMILY HEADER) asks a compiler whose mpi.h it takes, and which.
# Sets the variable FAMILY to openmpi, mpich or nothing, and HEADER to the path.
function(perfield_ask_mpi_compiler compiler family header)
  set(${family} "" PARENT_SCOPE)
  string(CONCAT question "#define OMPI_SKIP_MPICXX 1\n#define MPICH_SKIP_MPICXX 1\n#include <mpi.h>\n"
    "#if defined(OMPI_MAJOR_VERSION)\nperfield_family = openmpi;\n"
    "#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)\n"
    "perfield_family = mpich;\n#endif\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${question}" COMMAND ${compiler} -E -x c -
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0 AND answer MATCHES "perfield_family = ([a-z]+)")
    set(found ${CMAKE_MATCH_1})
    if(answer MATCHES "# [0-9]+ \"([^\"]*/mpi\\.h)\"")
      set(${header} ${CMAKE_MATCH_1} PARENT_SCOPE)
      set(${family} ${found} PARENT_SCOPE)
    endif()
  endif()
endfunction()
