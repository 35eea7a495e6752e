/** For tests that build programs of C++: without a cache of the compiler, beside other tests, and after others that build in the same place */
export const building = { timeout: 900_000 };
