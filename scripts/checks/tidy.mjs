// Checks the C++ of packages/native/src by clang-tidy, under the rules of packages/native/.clang-tidy.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { execute } from '../setup/execute.mjs';
import { root } from '../setup/stamp.mjs';
import { inParallel } from '../setup/native_build.mjs';

const native = join(root, 'packages', 'native');
const build = join(native, 'build', 'tidy');

/** Returns the folders of the headers that binding/ includes: Node-API's and node-addon-api's. libuv's are the system's. */
function nodeHeaders() {
  const ofPackage = createRequire(join(native, 'package.json'));
  return [ofPackage('node-api-headers').include_dir, dirname(ofPackage.resolve('node-addon-api/package.json'))];
}

/**
 * Makes every folder of src/ one file, which includes its sources (CMake's unity build): most of the time goes into reading
 * the standard library's headers, and so they are read once for each folder. Returns the paths of these files.
 */
async function unityFiles() {
  const compilers = ['-DCMAKE_C_COMPILER=clang', '-DCMAKE_CXX_COMPILER=clang++'];
  const unity = ['-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=1000'];
  const { code, output } = await execute('cmake', [
    ...['-G', 'Ninja', '-S', native, '-B', build, '-Wno-dev', '--log-level=WARNING'],
    ...compilers,
    ...unity,
    `-DSHEAF_NODE_HEADERS=${nodeHeaders().join(';')}`,
  ]);
  if (code !== 0) throw new Error(`cmake ended with ${code}:\n${output}`);
  const commands = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8'));
  const files = commands.map(({ file }) => file).filter((file) => /\/sheaf_\w+\.dir\/Unity\//.test(file));
  if (files.length === 0) throw new Error('CMake made no unity files: nothing would be checked');
  return files;
}

const findings = ({ output }) => output.split('\n').filter((line) => !/^\d+ warnings? (and|generated)/.test(line));

/** Rules of C++. `files`: paths of sources to check in place of every folder of src/; they need no build options. */
export async function checkNativeRules(files) {
  const options = ['--quiet', `--config-file=${join(native, '.clang-tidy')}`];
  const checked = files ?? (await unityFiles());
  const results = await inParallel(checked, (file) =>
    execute('clang-tidy', [...options, ...(files ? [file, '--', '-std=c++20', '-Wall'] : ['-p', build, file])]),
  );
  return {
    code: results.some(({ code }) => code !== 0) ? 1 : 0,
    output: results
      .filter(({ code }) => code !== 0)
      .flatMap(findings)
      .join('\n'),
  };
}
