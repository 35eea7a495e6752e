// Runs programs that check code: the compiler, ESLint, Prettier and clang-format.
import { join } from 'node:path';
import { filesBelow, root } from '../setup/stamp.mjs';
import { execute } from '../setup/execute.mjs';

const program = (...parts) => join(root, 'node_modules', ...parts);

/** Checks the types of every package's tests, or of another project. The set-up compiles the sources. */
export const checkTypes = (project = 'tsconfig.test.json') =>
  execute(process.execPath, [program('typescript', 'bin', 'tsc'), '--build', project], { cwd: root });

/** Checks the rules of eslint.config.js. */
export const checkRules = (files = ['.']) =>
  execute(process.execPath, [program('eslint', 'bin', 'eslint.js'), '--max-warnings', '0', ...files], { cwd: root });

/** Checks the documentation of the transport's interface: every symbol is documented, and every link has a target. */
export const checkApiDocumentation = (options = join(root, 'packages/native/typedoc.json')) =>
  execute(process.execPath, [program('typedoc', 'bin', 'typedoc'), '--options', options, '--emit', 'none'], {
    cwd: root,
  });

const isNative = (file) => /\.(cc|h)$/.test(file);
const nativeFiles = () =>
  ['src', 'test', 'fuzz', 'bench'].flatMap((folder) => filesBelow(join('packages/native', folder), isNative));
const prettier = (...args) =>
  execute(process.execPath, [program('prettier', 'bin', 'prettier.cjs'), '--log-level', 'warn', ...args], {
    cwd: root,
  });

/** Checks the layout of TypeScript and JavaScript. */
export const checkLayout = (files = ['.']) => prettier('--check', ...files);

/** Checks the layout of C++. */
export const checkNativeLayout = (files = nativeFiles()) =>
  execute('clang-format', ['--dry-run', '--Werror', ...files], { cwd: root });

/** Lays out every file. */
export const format = () =>
  Promise.all([prettier('--write', '.'), execute('clang-format', ['-i', ...nativeFiles()], { cwd: root })]);
