// What `top -H` and a debugger call a thread: whoever looks at a busy process sees which part of it is busy.
//
// The calling thread; cut after 15 bytes, which is all that Linux keeps.
#pragma once

#include <pthread.h>

#include <string>

namespace bartleby {

inline void name_thread(const std::string& name) { ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str()); }

}  // namespace bartleby
