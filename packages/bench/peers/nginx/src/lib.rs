//! Has no code: the sources of nginx are in C, and the laboratory builds them with their own makefile.
