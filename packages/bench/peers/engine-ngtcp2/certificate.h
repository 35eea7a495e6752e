#pragma once

#include <gnutls/gnutls.h>

// Credentials with a self-signed ECDSA certificate, made now.
gnutls_certificate_credentials_t make_server_credentials();
