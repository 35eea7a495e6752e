import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { systemErrorCode } from '../errors/user_error.js';
import {
  CertificateError,
  readAuthorityFile,
  readCertificateFiles,
  type CertificateFiles,
} from '../tls/certificate_files.js';
import { builtInNames, isBuiltIn } from '../targets/webtransport/built_in.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { closest } from '../values/known_keys.js';
import type { VisibleConfiguration } from './visible.js';

/** Checks what only the file system knows: directories, modules, certificates. */
export async function checkEnvironment(
  { at, tls, routes, certificateAuthority }: VisibleConfiguration,
  document: ConfigurationDocument,
): Promise<Diagnostic[]> {
  const tlsFiles = tls === 'dev' ? undefined : tls;
  const checks = [
    checkPair(tlsFiles, [...at, 'tls'], document),
    checkAuthority(certificateAuthority, [...at, 'gateway', 'certificate', 'ca'], document),
  ];
  routes.forEach((route, index) => {
    if (route?.files) checks.push(checkDirectory(route.files.root, [...at, 'routes', index, 'files'], document));
    if (route?.upstream?.tls) {
      const { certificate, ca } = route.upstream.tls;
      const path = [...at, 'routes', index, 'upstream', 'tls'];
      checks.push(
        checkPair(certificate, [...path, 'certificate'], document),
        checkAuthority(ca, [...path, 'ca'], document),
      );
    }
    if (route?.webtransport)
      checks.push(checkApplication(route.webtransport.application, [...at, 'routes', index, 'webtransport'], document));
  });
  return (await Promise.all(checks)).filter((fault) => fault !== undefined);
}

/** Returns the place of a value. The long form of an option nests the value one level deeper. */
function valueRange(document: ConfigurationDocument, path: ValuePath, nested: string) {
  const value = path.reduce<unknown>(
    (holder, step) => (holder as Record<PropertyKey, unknown>)[step],
    document.value(),
  );
  return document.locateValue(typeof value === 'object' ? [...path, nested] : path);
}

async function checkDirectory(
  root: string,
  path: ValuePath,
  document: ConfigurationDocument,
): Promise<Diagnostic | undefined> {
  const range = valueRange(document, path, 'root');
  const refuse = (message: string, hint: string): Diagnostic => ({ code: 'CONFIG_PATH', message, range, hint });
  try {
    if (!(await stat(root)).isDirectory())
      return refuse(`${root} is not a directory`, 'name the directory that holds the file');
    await access(root, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return systemErrorCode(error) === 'ENOENT'
      ? refuse(
          `the directory ${root} does not exist`,
          'create it or correct the path; it is relative to the configuration file',
        )
      : refuse(
          `the directory ${root} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`,
          'check its permissions',
        );
  }
}

async function checkApplication(
  application: string,
  path: ValuePath,
  document: ConfigurationDocument,
): Promise<Diagnostic | undefined> {
  if (isBuiltIn(application)) return undefined;
  try {
    await access(application, constants.R_OK);
    return undefined;
  } catch (error) {
    const range = valueRange(document, path, 'application');
    const written = document.text.slice(range.start, range.end);
    const meant = closest(written, builtInNames);
    const hint =
      meant === undefined
        ? `built in: ${builtInNames.map((item) => `\`${item}\``).join(', ')}; otherwise the path of a module`
        : `did you mean \`${meant}\`?`;
    return {
      code: 'CONFIG_PATH',
      message: `the module ${application} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`,
      range,
      hint,
    };
  }
}

/** Checks a certificate with its key. `path` leads to the map that holds `cert` and `key`. */
async function checkPair(
  files: CertificateFiles | undefined,
  path: ValuePath,
  document: ConfigurationDocument,
): Promise<Diagnostic | undefined> {
  return (
    files &&
    readCertificateFiles(files).then(
      () => undefined,
      (error: unknown) => certificateFault(error, (option) => document.locateValue([...path, option])),
    )
  );
}

async function checkAuthority(
  file: string | undefined,
  path: ValuePath,
  document: ConfigurationDocument,
): Promise<Diagnostic | undefined> {
  return file === undefined
    ? undefined
    : readAuthorityFile(file).then(
        () => undefined,
        (error: unknown) => certificateFault(error, () => document.locateValue(path)),
      );
}

function certificateFault(
  error: unknown,
  locate: (option: CertificateError['option']) => Diagnostic['range'],
): Diagnostic {
  if (!(error instanceof CertificateError)) throw error;
  return {
    code: error.code,
    message: error.message,
    range: locate(error.option),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}
