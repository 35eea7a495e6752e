// `npm run image`: carries out the Dockerfile of `sheaf deploy compose` without a container engine. Each stage is a directory
// with a minimal Debian, and each RUN a command in it (chroot). Then the node of the image runs as its user, and answers its
// health check and a request. Needs root and mmdebstrap, and takes minutes; `--minutes 30` bounds them.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readCopy, readStages } from './image/dockerfile.mjs';
import { ended, makeSystem, startInside, whyNoSystem } from './pack/minimal_system.mjs';
import { report } from './setup.mjs';
import { StepError, mustRun, progress } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';

const sheaf = join(root, 'packages/cli/bin/sheaf.js');
const port = 14_443;
const adminPort = 19_433;

/** Makes a site with a certificate, and what `sheaf deploy compose` makes of it. Returns the directory with the Dockerfile. */
function generate(work) {
  const site = join(work, 'site');
  mkdirSync(join(site, 'public'), { recursive: true });
  writeFileSync(join(site, 'public/index.html'), 'it works\n');
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem';
  mustRun('openssl made no certificate.', 'openssl', request.split(' '), site);
  writeFileSync(
    join(site, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${adminPort}\ntls: { cert: ./cert.pem, key: ./key.pem }\nroutes: [{ files: ./public }]\n`,
  );
  mustRun('`sheaf deploy` failed.', process.execPath, [sheaf, 'deploy', 'compose', '--out', 'context'], site);
  const packed = join(root, '.sheaf/packed');
  if (!existsSync(packed))
    throw new StepError('Nothing is packed.', { cause: `there is no ${packed}`, command: 'npm run pack' });
  mkdirSync(join(site, 'context/packages'));
  for (const file of readdirSync(packed))
    if (!file.startsWith('sheaf-bench-')) cpSync(join(packed, file), join(site, 'context/packages', file));
  return { site, context: join(site, 'context') };
}

/** Carries out the stages of a Dockerfile. Returns the directory of the last one. @throws StepError */
async function build({ context, work, signal }) {
  const roots = new Map();
  let last;
  for (const { base, name, steps } of readStages(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    last = join(work, name ?? 'image');
    progress(`FROM ${base}: a minimal Debian 12 and Node ${process.versions.node}`);
    await makeSystem(last, signal);
    let directory = '/';
    for (const { instruction, rest } of steps) {
      progress(`${instruction} ${rest}`);
      if (instruction === 'WORKDIR') mkdirSync(join(last, (directory = rest)), { recursive: true });
      else if (instruction === 'COPY') copy(readCopy(rest), { to: last, from: roots, context });
      else if (instruction === 'RUN') await runStep(last, { directory, command: rest }, signal);
    }
    roots.set(name, last);
  }
  return last;
}

function copy({ from, sources, target }, { to, from: roots, context }) {
  const base = from === undefined ? context : roots.get(from);
  for (const source of sources) {
    if (!source.includes('*')) {
      cpSync(join(base, source), join(to, target), { recursive: true, verbatimSymlinks: true });
      continue;
    }
    const [directory, ending] = source.split('/*');
    for (const file of readdirSync(join(base, directory)).filter((each) => each.endsWith(ending)))
      cpSync(join(base, directory, file), join(to, target, basename(file)));
  }
}

async function runStep(system, { directory, command }, signal) {
  const code = await endInside(system, `cd ${directory}\n${command}`, signal);
  if (code === 0) return;
  throw new StepError('A step of the image failed.', { cause: `ended with ${code}; its message is above`, command });
}

/** Runs a shell script in the system to its end. Returns its exit code, or the name of the signal that ended it. */
function endInside(system, script, signal) {
  const child = startInside(system, script, signal);
  child.stdout.pipe(process.stderr, { end: false });
  return ended(child);
}

/** Runs the node of the image as its user, and asks it. @throws StepError */
async function tryImage(image, { site, context }, signal) {
  const inImage = (path) => join(image, path);
  mkdirSync(inImage('etc/sheaf'), { recursive: true });
  mkdirSync(inImage('run/secrets'), { recursive: true });
  cpSync(join(context, 'sheaf.yaml'), inImage('etc/sheaf/sheaf.yaml'));
  cpSync(join(site, 'public'), inImage('srv/sheaf/routes-0-files-root'), { recursive: true });
  for (const [file, id] of [
    ['cert.pem', 'tls-cert'],
    ['key.pem', 'tls-key'],
  ])
    mustRun(
      'A key could not be given.',
      'install',
      ['-m', '0400', '-o', '65532', '-g', '65532', join(site, file), inImage(`run/secrets/${id}`)],
      site,
    );
  // The shell stays, as the first process of its namespace: a program that changes its user would outlive its parent.
  const asUser = 'setpriv --reuid=65532 --regid=65532 --clear-groups';
  const program = `${asUser} node /opt/sheaf/node_modules/@sheaf/cli/bin/sheaf.js`;
  const node = startInside(image, `${program} up /etc/sheaf/sheaf.yaml\nexit $?`, signal);
  node.stdout.pipe(process.stderr, { end: false });
  const end = ended(node);
  // Whoever waits for it gets the error.
  end.catch(() => {});
  try {
    const check = (args) => endInside(image, `${program} ${args}\nexit $?`, signal);
    for (let attempt = 0; (await check(`healthcheck --admin 127.0.0.1:${adminPort}`)) !== 0; attempt++) {
      if (attempt === 30 || node.exitCode !== null)
        throw new StepError('The node of the image does not get healthy.', {});
      await sleep(500);
    }
    const code = await check(`fetch --insecure --fail https://127.0.0.1:${port}/`);
    if (code !== 0)
      throw new StepError('The node of the image does not answer.', { cause: `sheaf fetch ended with ${code}` });
  } finally {
    node.kill('SIGKILL');
    await end.catch(() => {});
  }
}

try {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
  progress(
    'No container engine is used: the steps of the image run in a chroot, and layers, USER and EXPOSE are not tried.',
  );
  const why = whyNoSystem();
  if (why !== undefined) throw new StepError('The image is not tried.', { cause: why });
  const signal = AbortSignal.timeout(Number(values.minutes) * 60_000);
  const work = mkdtempSync(join(tmpdir(), 'sheaf-image-'));
  try {
    const generated = generate(work);
    const image = await build({ ...generated, work, signal });
    await tryImage(image, generated, signal);
    console.log(
      `The image's steps ran, and its node answers (${mustRun('du failed', 'du', ['-sh', join(image, 'opt')], work).split('\t')[0]} in /opt).`,
    );
  } finally {
    // Never follows what is mounted there, such as /dev, and takes seconds where Node takes minutes.
    mustRun('The directories could not be removed.', 'rm', ['-rf', '--one-file-system', work], root);
  }
} catch (error) {
  report(error);
}
