module sheaf-interop/shared

go 1.23
