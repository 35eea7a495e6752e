import { exitCodes, type ExitCode } from './exit_codes.js';

interface ErrorCodeEntry {
  exitCode: ExitCode;
  /** One sentence for docs/reference/errors.md. */
  meaning: string;
}

/** All errors that users can see. docs/reference/errors.md is tested against this table. */
export const errorCodes = {
  USAGE: { exitCode: exitCodes.usage, meaning: 'The command line has an unknown command or option, or lacks a value.' },
  CONFIG_NOT_FOUND: { exitCode: exitCodes.usage, meaning: 'The configuration file does not exist or cannot be read.' },
  CONFIG_EXISTS: { exitCode: exitCodes.usage, meaning: '`sheaf init` or `sheaf deploy` would overwrite a file.' },
  CONFIG_SYNTAX: { exitCode: exitCodes.usage, meaning: 'The configuration file is not valid YAML.' },
  CONFIG_UNKNOWN_KEY: { exitCode: exitCodes.usage, meaning: 'A key is not known in this place.' },
  CONFIG_MISSING_KEY: { exitCode: exitCodes.usage, meaning: 'A required key is missing.' },
  CONFIG_TYPE: {
    exitCode: exitCodes.usage,
    meaning: 'A value has the wrong type, such as a number where text is expected.',
  },
  CONFIG_VALUE: { exitCode: exitCodes.usage, meaning: 'A value has the right type but is not allowed.' },
  CONFIG_CONFLICT: {
    exitCode: exitCodes.usage,
    meaning: 'Two keys exclude each other, or no request reaches a route because an earlier route answers all of them.',
  },
  CONFIG_PATH: {
    exitCode: exitCodes.usage,
    meaning: 'A file or directory that the configuration names is missing or cannot be read.',
  },
  CONFIG_CERTIFICATE: {
    exitCode: exitCodes.usage,
    meaning: 'The certificate or its key cannot be used, or they do not belong together.',
  },
  KEY_EXISTS: { exitCode: exitCodes.usage, meaning: '`sheaf keys new` would overwrite a key.' },
  CREDENTIALS_UNUSABLE: {
    exitCode: exitCodes.environment,
    meaning:
      "The file of the users of a proxy, of the credentials for one, or of a node's secrets cannot be read, every user of the machine can read it, or it is faulty.",
  },
  KEY_UNUSABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The key of a node is missing, cannot be read, is not an Ed25519 key, or can be read by every user.',
  },
  DEPLOYMENT_UNFIT: {
    exitCode: exitCodes.usage,
    meaning:
      'The configuration of a node, or an option of the command, has a part that does not work or cannot be written where `sheaf deploy` is to put the node.',
  },
  PAGE_TABLE: {
    exitCode: exitCodes.usage,
    meaning: 'A table of the resources of a page is not well-formed or too large.',
  },
  HAR_INVALID: { exitCode: exitCodes.usage, meaning: 'A file cannot be read, is not a HAR file, or holds no page.' },
  NODE_UNKNOWN: {
    exitCode: exitCodes.usage,
    meaning: '`--node` or a command names a node or a backend that the configuration file does not have.',
  },
  RELOAD_NEEDS_RESTART: {
    exitCode: exitCodes.usage,
    meaning: 'A reload would change what stays for as long as a node runs.',
  },
  RELOAD_REFUSED: {
    exitCode: exitCodes.failed,
    meaning:
      'A running node does not take another configuration: it is stopping, or runs by none that it could read again.',
  },
  UPGRADE_REFUSED: {
    exitCode: exitCodes.failed,
    meaning:
      'No other process takes over from one that runs: a node of it cannot, or the new process failed. The old one goes on.',
  },
  RETURN_ADDRESS: {
    exitCode: exitCodes.environment,
    meaning: 'A backend cannot send from an address that its `return` names.',
  },
  PORT_TAKEN: { exitCode: exitCodes.environment, meaning: 'Another process already has the address and port.' },
  SOCKETS_UNFIT: {
    exitCode: exitCodes.environment,
    meaning: 'The sockets that the service manager has opened for a node are not those that its configuration needs.',
  },
  PORT_FORBIDDEN: { exitCode: exitCodes.environment, meaning: 'The system does not allow this user to have the port.' },
  ADDRESS_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'An address to listen on or to send from does not belong to this machine.',
  },
  TRANSPORT_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The native transport is not built or cannot be loaded.',
  },
  APPLICATION_INVALID: {
    exitCode: exitCodes.environment,
    meaning: 'A WebTransport application module cannot be loaded or has no default function.',
  },
  DIRECTORY_UNWRITABLE: {
    exitCode: exitCodes.environment,
    meaning: 'A directory that Sheaf keeps files in cannot be made or written to.',
  },
  FILE_UNWRITABLE: {
    exitCode: exitCodes.environment,
    meaning: 'A file that Sheaf was told to write cannot be written.',
  },
  DEMO_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The demo site or the browser for the demo is missing.',
  },
  PAGES_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The page fixtures, which only the repository has, are missing, or the named one is.',
  },
  BENCH_UNKNOWN: { exitCode: exitCodes.usage, meaning: '`sheaf bench` does not know this experiment.' },
  BENCH_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The experiments (`@sheaf/bench`), or a program that one of them needs, are not installed.',
  },
  ADMIN_UNREACHABLE: { exitCode: exitCodes.network, meaning: 'No gateway answers on the admin address.' },
  REGISTRY_UNREACHABLE: {
    exitCode: exitCodes.network,
    meaning: 'The registry of the fleet does not answer, or refuses what is written.',
  },
  REGISTRY_REFUSED: {
    exitCode: exitCodes.failed,
    meaning: 'The registry has something else than what a command may replace.',
  },
  CONNECT_FAILED: { exitCode: exitCodes.network, meaning: 'The QUIC connection could not be opened.' },
  REQUEST_FAILED: {
    exitCode: exitCodes.network,
    meaning: 'The connection or the stream ended before the response was complete.',
  },
  REQUEST_TIMEOUT: { exitCode: exitCodes.network, meaning: 'The response took longer than `--timeout`.' },
  CHANNEL_UNKNOWN: {
    exitCode: exitCodes.usage,
    meaning: 'No gateway of the configuration file, or of the address, has the channel.',
  },
  CHANNEL_INCOMPLETE: {
    exitCode: exitCodes.failed,
    meaning: 'A part of what a channel published did not arrive in time.',
  },
  HTTP_STATUS: { exitCode: exitCodes.failed, meaning: '`sheaf fetch --fail` received a status of 400 or more.' },
  CONTENT_DIFFERS: { exitCode: exitCodes.failed, meaning: 'Repeated requests of one URL returned different bodies.' },
  DEMO_FAILED: { exitCode: exitCodes.failed, meaning: 'The browser did not load the demo page over every transport.' },
  BENCH_FAILED: { exitCode: exitCodes.failed, meaning: 'An experiment ran and missed a required figure.' },
  INTERNAL: { exitCode: exitCodes.internal, meaning: 'A fault of Sheaf itself; the stack trace belongs in a report.' },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;
