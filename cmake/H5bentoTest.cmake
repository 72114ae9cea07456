# Helpers for tests/.

find_package(Catch2 3)
if(NOT Catch2_FOUND)
  message(FATAL_ERROR
    "The tests need Catch2 3, which scripts/bootstrap builds. Run it, or add the folder of an "
    "installed one to CMAKE_PREFIX_PATH, or configure with -DH5BENTO_TESTS=OFF.")
endif()
include(Catch)

# The system's Python, where there is one: what a version manager puts before it in PATH takes up to ten times as long to
# start, and does so hundreds of times.
find_program(H5BENTO_TEST_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(H5BENTO_TEST_PYTHON python3 REQUIRED)

# What scripts/env says, also for whoever runs ctest by itself.
set(H5BENTO_TEST_LAUNCHER env "H5BENTO_BUILD=${PROJECT_BINARY_DIR}"
  "H5BENTO_SOURCE=${PROJECT_SOURCE_DIR}")
# What costs each process time and changes nothing that is tested: Open MPI looks for network adapters (0.2 s) and starts
# a daemon for a program without mpirun (0.1 s), and numpy starts threads.
list(APPEND H5BENTO_TEST_LAUNCHER "OMPI_MCA_mtl=^ofi,psm,psm2" "OMPI_MCA_btl=^ofi" OMPI_MCA_ess_singleton_isolated=1
  OPENBLAS_NUM_THREADS=1)
if(H5BENTO_HDF5)
  list(APPEND H5BENTO_TEST_LAUNCHER "${PROJECT_SOURCE_DIR}/scripts/env")
endif()

# Programs of ours that drive HDF5 and MPI, whose own leaks do not count (see there).
set(H5BENTO_SANITIZER_LAUNCHER "")
if(H5BENTO_SANITIZE)
  set(H5BENTO_SANITIZER_LAUNCHER python3 -B "${PROJECT_SOURCE_DIR}/tests/programs/sanitizer.py")
endif()

# h5bento_test_weight(variable processes waits): what a test takes of the seven units that scripts/test gives out for two
# processors. A test also waits, for a disk, a deadline, a start; so one process takes two units, several take turns on
# what is there, and those that mostly wait take one, for which there is always one left.
function(h5bento_test_weight variable processes waits)
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  if(processes GREATER processors)
    set(processes ${processors})
  endif()
  if(waits)
    set(weight 1)
  elseif(processes EQUAL 1)
    set(weight 2)
  else()
    math(EXPR weight "3 * ${processes} / 2")
  endif()
  set(${variable} ${weight} PARENT_SCOPE)
endfunction()

# How many times longer a test may take than its limit says: sanitizers make programs slower, the one for threads most.
set(H5BENTO_TEST_SLOWNESS 1)
if(H5BENTO_SANITIZE MATCHES "thread")
  set(H5BENTO_TEST_SLOWNESS 20)
elseif(H5BENTO_SANITIZE)
  set(H5BENTO_TEST_SLOWNESS 3)
endif()

# h5bento_add_test(NAME name LABEL quick|full|long|ci COMMAND program [argument...]
#                  [TIMEOUT seconds] [PROCESSORS n] [WAITS] [SERIAL] [WORKING_DIRECTORY folder])
# PROCESSORS is the number of processes that work at the same time, WAITS says that they mostly wait. Runs in an empty folder of its own, within the environment of scripts/env (and H5BENTO_BUILD,
# H5BENTO_SOURCE). A test that cannot run here prints `SKIP: reason` and exits with 77.
function(h5bento_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL;WAITS" "NAME;LABEL;TIMEOUT;PROCESSORS;WORKING_DIRECTORY" "COMMAND")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_COMMAND OR NOT arg_LABEL MATCHES "^(quick|full|long|ci)$")
    message(FATAL_ERROR "h5bento_add_test: NAME, COMMAND and LABEL quick|full|long|ci are needed; got ${ARGV}")
  endif()
  list(TRANSFORM arg_COMMAND REPLACE "^python3$" "${H5BENTO_TEST_PYTHON}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT_quick 60)
    set(arg_TIMEOUT_full 600)
    set(arg_TIMEOUT_long 3600)
    set(arg_TIMEOUT_ci 600)
    set(arg_TIMEOUT ${arg_TIMEOUT_${arg_LABEL}})
  endif()
  math(EXPR arg_TIMEOUT "${H5BENTO_TEST_SLOWNESS} * ${arg_TIMEOUT}")
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  h5bento_test_weight(weight ${arg_PROCESSORS} "${arg_WAITS}")
  set(launcher ${H5BENTO_TEST_LAUNCHER})
  if(NOT arg_WORKING_DIRECTORY)
    set(arg_WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    list(APPEND launcher "${PROJECT_SOURCE_DIR}/scripts/in-scratch" "${arg_NAME}")
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${launcher} ${arg_COMMAND}
    WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}")
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 77
    TIMEOUT ${arg_TIMEOUT} PROCESSORS ${weight} RUN_SERIAL "${arg_SERIAL}")
endfunction()

# h5bento_python_test(variable label): what runs a Python program as a test of this tier. A long one runs all cases of each
# kind, the others some (some() in tests/programs/harness.py).
function(h5bento_python_test variable label)
  set(command python3 -B)
  if(label STREQUAL "long")
    list(PREPEND command "${CMAKE_COMMAND}" -E env H5BENTO_TEST_ALL=1)
  endif()
  set(${variable} ${command} PARENT_SCOPE)
endfunction()

# h5bento_add_catch_tests(target source...): every case is a test of its own; one with the tag [full]
# or [long] belongs to that tier, all others to quick. A case that calls SKIP("reason") is a skip.
function(h5bento_add_catch_tests target)
  add_executable(${target} ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE "H5BENTO_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  target_link_libraries(${target} PRIVATE Catch2::Catch2WithMain h5bento_warnings)
  # What Catch2's macros expand to takes the optimiser and the sanitizers longer than all the code under test, and
  # nobody waits for it when the tests run. The code under test keeps its options.
  if(H5BENTO_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -Og -fno-sanitize=null,alignment,vptr,object-size)
  else()
    target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:-O1;-g1>")
  endif()
  h5bento_test_weight(weight 1 FALSE)
  set(launcher ${H5BENTO_TEST_LAUNCHER} ${H5BENTO_CATCH_LAUNCHER})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests"
    CROSSCOMPILING_EMULATOR "${launcher}")
  foreach(tier IN ITEMS "quick|~[full]~[long]|60" "full|[full]|600" "long|[long]|3600")
    string(REPLACE "|" ";" tier "${tier}")
    list(GET tier 0 label)
    list(GET tier 1 spec)
    list(GET tier 2 timeout)
    math(EXPR timeout "${H5BENTO_TEST_SLOWNESS} * ${timeout}")
    # PRE_TEST: a program that crashes on start is then a failed test run and not a failed build.
    catch_discover_tests(${target} TEST_SPEC "${spec}" TEST_PREFIX "${target}: "
      DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
      PROPERTIES LABELS ${label} TIMEOUT ${timeout} PROCESSORS ${weight})
  endforeach()
endfunction()
