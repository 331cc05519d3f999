# Hardening as the OpenSSF recommends it. Each flag is probed; what the compiler does not know is left out.
# tests/house/hardening.py reads the finished program and sees whether it worked.

include(CheckCXXCompilerFlag)

function(bartleby_add_flag_if_known flag)
  string(MAKE_C_IDENTIFIER "BARTLEBY_HAS${flag}" known)
  check_cxx_compiler_flag("-Werror ${flag}" ${known})
  if(${known})
    add_compile_options(${flag})
  endif()
endfunction()

add_compile_definitions(_GLIBCXX_ASSERTIONS)
bartleby_add_flag_if_known(-fstack-protector-strong)
bartleby_add_flag_if_known(-fstack-clash-protection)
bartleby_add_flag_if_known(-fcf-protection=full)
bartleby_add_flag_if_known(-ftrivial-auto-var-init=zero)
bartleby_add_flag_if_known(-fstrict-flex-arrays=3)
# All code ends up in programs, so -fPIE and not -fPIC, which would keep functions from being inlined.
add_compile_options(-fPIE)
add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)

# Fortified calls need the optimiser, and would hide from a sanitizer what it should see.
if(NOT BARTLEBY_SANITIZE AND NOT BARTLEBY_COVERAGE AND CMAKE_CXX_FLAGS MATCHES "-O[23s]")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
