import { exitCodes, type ExitCode } from './exit_codes.js';

interface ErrorCodeEntry {
  exitCode: ExitCode;
  /** One sentence for docs/reference/errors.md. */
  meaning: string;
}

/** Every error a user can be shown, in one place. docs/reference/errors.md is tested against this table. */
export const errorCodes = {
  USAGE: { exitCode: exitCodes.usage, meaning: 'The command line has an unknown command or option, or lacks a value.' },
  CONFIG_NOT_FOUND: { exitCode: exitCodes.usage, meaning: 'The configuration file does not exist or cannot be read.' },
  CONFIG_EXISTS: { exitCode: exitCodes.usage, meaning: '`sheaf init` would overwrite a file.' },
  CONFIG_SYNTAX: { exitCode: exitCodes.usage, meaning: 'The configuration file is not valid YAML.' },
  CONFIG_UNKNOWN_KEY: { exitCode: exitCodes.usage, meaning: 'A key is not known at this place.' },
  CONFIG_MISSING_KEY: { exitCode: exitCodes.usage, meaning: 'A key that must be there is missing.' },
  CONFIG_TYPE: {
    exitCode: exitCodes.usage,
    meaning: 'A value has the wrong type, such as a number where text is expected.',
  },
  CONFIG_VALUE: { exitCode: exitCodes.usage, meaning: 'A value has the right type but is not allowed.' },
  CONFIG_CONFLICT: {
    exitCode: exitCodes.usage,
    meaning:
      'Two keys exclude each other, or nothing gets to a route because one before it answers all of its requests.',
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
  KEY_UNUSABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The key of a node is missing, cannot be read, is no Ed25519 key, or every user can read it.',
  },
  PAGE_TABLE: {
    exitCode: exitCodes.usage,
    meaning: 'A table of the resources of a page is not well-formed or too large.',
  },
  HAR_INVALID: { exitCode: exitCodes.usage, meaning: 'A HAR file cannot be read, is not one, or holds no page.' },
  NODE_UNKNOWN: {
    exitCode: exitCodes.usage,
    meaning: '`--node` or a command names a node or a backend that the configuration file does not have.',
  },
  PORT_TAKEN: { exitCode: exitCodes.environment, meaning: 'Another process already has the address and port.' },
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
    meaning: 'The page fixtures, which only the repository has, are not there, or not the one that was named.',
  },
  BENCH_UNKNOWN: { exitCode: exitCodes.usage, meaning: '`sheaf bench` was given a name that is no experiment.' },
  BENCH_UNAVAILABLE: {
    exitCode: exitCodes.environment,
    meaning: 'The experiments (`@sheaf/bench`) are not installed, or a program that one of them is built with.',
  },
  ADMIN_UNREACHABLE: { exitCode: exitCodes.network, meaning: 'No gateway answers on the admin address.' },
  CONNECT_FAILED: { exitCode: exitCodes.network, meaning: 'The QUIC connection could not be opened.' },
  REQUEST_FAILED: {
    exitCode: exitCodes.network,
    meaning: 'The connection or the stream ended before the response was complete.',
  },
  REQUEST_TIMEOUT: { exitCode: exitCodes.network, meaning: 'The response took longer than `--timeout`.' },
  HTTP_STATUS: { exitCode: exitCodes.failed, meaning: '`sheaf fetch --fail` received a status of 400 or more.' },
  CONTENT_DIFFERS: { exitCode: exitCodes.failed, meaning: 'Repeated requests of one URL returned different bodies.' },
  DEMO_FAILED: { exitCode: exitCodes.failed, meaning: 'The browser did not load the demo page over every transport.' },
  BENCH_FAILED: { exitCode: exitCodes.failed, meaning: 'An experiment ran and did not reach what it must show.' },
  INTERNAL: { exitCode: exitCodes.internal, meaning: 'A fault of Sheaf itself; the stack trace belongs in a report.' },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;
