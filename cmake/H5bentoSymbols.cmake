# cmake -DNM=nm -DFILES=a.o;b.a -DOUTPUT=file.c [-DMPI=ON] -P H5bentoSymbols.cmake
#
# Writes the C file with a definition for every name of HDF5, and with MPI=ON of MPI, that the objects and archives use and do not
# define: a jump for each function, a copy for each variable of HDF5, and the table by which binding/ fills them. For a
# pointer h5bento_address_NAME it is the address of NAME. Made from them, so that nobody has to keep a list.

cmake_minimum_required(VERSION 3.22)

set(names "")
foreach(file IN LISTS FILES)
  execute_process(COMMAND "${NM}" -A --undefined-only "${file}" OUTPUT_VARIABLE listed RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} cannot read ${file}")
  endif()
  string(REGEX MATCHALL " U (H5|P?MPI_|h5bento_address_)[A-Za-z0-9_]+" found "${listed}")
  list(APPEND names ${found})
endforeach()
list(TRANSFORM names REPLACE " U " "")
list(REMOVE_DUPLICATES names)
if(NOT MPI)
  # What needs MPI has another source in such a module.
  list(FILTER names EXCLUDE REGEX "_mpio|MPIO|_coll_metadata_|^P?MPI_")
endif()
list(SORT names)
if(NOT names)
  message(FATAL_ERROR "no name of HDF5 in ${FILES}")
endif()

set(definitions "")
set(table "")
foreach(name IN LISTS names)
  if(name MATCHES "^h5bento_address_(.+)$")
    string(APPEND definitions "BENTO_ADDRESS(${name})\n")
    string(APPEND table "  {\"${CMAKE_MATCH_1}\", &${name}, 0},\n")
  elseif(name MATCHES "^H5.*_g$")
    string(APPEND definitions "BENTO_VARIABLE(${name})\n")
    string(APPEND table "  {\"${name}\", 0, &${name}},\n")
  else()
    string(APPEND definitions "BENTO_TRAMPOLINE(${name})\n")
    string(APPEND table "  {\"${name}\", &h5bento_slot_${name}, 0},\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "/* Made by cmake/H5bentoSymbols.cmake. */
#include <stddef.h>
#include <stdint.h>
#include \"binding/trampoline.h\"
@definitions@
/* struct Symbol of binding/hdf5_binding.hpp */
struct Symbol {
  const char* name;
  void** slot;
  int64_t* variable;
};
const struct Symbol h5bento_symbols[] = {
@table@};
const size_t h5bento_symbol_count = sizeof h5bento_symbols / sizeof h5bento_symbols[0];
")
