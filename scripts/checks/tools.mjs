// Checks by programs that read code: the compiler, ESLint, Prettier and clang-format.
import { join } from 'node:path';
import { filesBelow, root } from '../setup/stamp.mjs';
import { execute } from '../setup/execute.mjs';

const program = (...parts) => join(root, 'node_modules', ...parts);

/** Types of the tests of every package, or of another project. The set-up compiles the sources. */
export const checkTypes = (project = 'tsconfig.test.json') =>
  execute(process.execPath, [program('typescript', 'bin', 'tsc'), '--build', project], { cwd: root });

/** Rules of eslint.config.js. */
export const checkRules = (files = ['.']) =>
  execute(process.execPath, [program('eslint', 'bin', 'eslint.js'), '--max-warnings', '0', ...files], { cwd: root });

/** Layout of TypeScript and JavaScript. */
export const checkLayout = (files = ['.']) =>
  execute(process.execPath, [program('prettier', 'bin', 'prettier.cjs'), '--check', '--log-level', 'warn', ...files], { cwd: root });

const isNative = (file) => /\.(cc|h)$/.test(file);

/** Layout of C++. */
export const checkNativeLayout = (files = ['src', 'test', 'fuzz', 'bench'].flatMap((folder) => filesBelow(join('packages/native', folder), isNative))) =>
  execute('clang-format', ['--dry-run', '--Werror', ...files], { cwd: root });
