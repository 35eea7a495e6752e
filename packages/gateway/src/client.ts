/** Exports the part of this package that clients need. Nothing here loads the roles of nodes or their configuration. */
export { errorCodes, type ErrorCode } from './errors/error_codes.js';
export { exitCodes, type ExitCode } from './errors/exit_codes.js';
export { errorMessage, resetCode, systemErrorCode, UserError } from './errors/user_error.js';
export { freePort } from './values/free_port.js';
export { congestionControl, congestionNames, pathSchedulerNames } from './values/transport_names.js';
export { formatAddress } from './values/listen_error.js';
export { loadNativeModule } from './listeners/native_module.js';
export { proxyCredentials } from './tunnel_client/proxy_credentials.js';
export { outerDatagram, parseProxyTemplate, type ProxyTemplate } from './tunnel_client/proxy_template.js';
export { version } from './values/version.js';
export { passedVariables, type PassedVariables } from './upgrade/passed_variables.js';
export { successorVariable } from './upgrade/successor_variable.js';
