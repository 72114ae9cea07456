# h5bento_warnings: what our own code is held to; not exported.

add_library(h5bento_warnings INTERFACE)
target_compile_options(h5bento_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on std::string's operator+ (GCC bug 105651).
  target_compile_options(h5bento_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=maybe-uninitialized>)
endif()
if(H5BENTO_WERROR)
  target_compile_options(h5bento_warnings INTERFACE -Werror)
endif()
