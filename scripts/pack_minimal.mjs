// `npm run pack:minimal`: installs the packed packages on a minimal Debian 12 without compilers and headers, in a folder of its own,
// and loads the page of `npx sheaf init && npx sheaf up` from there into Chromium outside of it, over HTTP/3. Prints why where it
// cannot run. Ends after --minutes (10).
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { parseArgs } from 'node:util';
import { ended, finish, isolate, makeSystem, mountsBelow, startInside, whyNoSystem } from './pack/minimal_system.mjs';
import { report } from './setup.mjs';
import { StepError, mustRun, progress } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';

const browserModule = join(root, 'packages', 'bench', 'dist', 'browser', 'chromium.js');

/** What a user does. The ports of the example may be taken on this machine, whose network the system shares. */
const asUser = `
for tool in cc gcc g++ c++ clang make cmake python3 pkg-config; do
  if command -v $tool >&2; then echo "the system has $tool" >&2; exit 1; fi
done
if [ -e /usr/include/stdio.h ]; then echo "the system has headers" >&2; exit 1; fi
if find / -xdev -name 'libgnutls*' -o -xdev -name 'libng*' | grep . >&2; then echo "the system has libraries" >&2; exit 1; fi
npm init --yes >&2
npm install --no-audit --no-fund ./sheaf-*.tgz >&2
npx sheaf init >&2
sed -i 's/127\\.0\\.0\\.1:[0-9]*/127.0.0.1:0/g' sheaf.yaml
exec npx sheaf up
`;

function whySkipped() {
  if (!existsSync('/usr/bin/chromium')) return 'Chromium is missing; run `apt-get install chromium`';
  if (!existsSync(browserModule)) return 'the packages are not built; run `npm run setup`';
  return whyNoSystem();
}

async function tryPackages(directory, signal) {
  const archives = join(directory, 'archives');
  const system = join(directory, 'system');
  progress('packing the packages …');
  await finish(isolate([process.execPath, join(root, 'scripts', 'pack.mjs'), '--destination', archives]), signal);
  progress('making a minimal Debian 12 …');
  await makeSystem(system, signal);
  for (const name of readdirSync(archives).filter((each) => !each.startsWith('sheaf-bench-')))
    copyFileSync(join(archives, name), join(system, 'root', name));
  progress('installing and starting in it …');
  const child = startInside(system, asUser, signal);
  const end = ended(child);
  // Whoever waits for it gets the error.
  end.catch(() => {});
  try {
    const port = await portOf(child, end);
    const { protocol, heading } = await visit(port, signal);
    const page = readFileSync(join(system, 'root', 'site', 'index.html'), 'utf8');
    if (protocol !== 'h3' || !page.includes(`<h1>${heading}</h1>`))
      throw new StepError('Chromium did not load the page.', { cause: `over ${protocol} it read "${heading}"` });
    progress(`Chromium loaded "${heading}" over ${protocol} from the gateway in the minimal system.`);
  } finally {
    child.kill('SIGKILL');
    await end.catch(() => {});
  }
}

/** Resolves with the port on which the gateway says that it serves. @throws StepError when it ends before */
async function portOf(child, end) {
  for await (const line of createInterface({ input: child.stdout })) {
    progress(`  ${line}`);
    const [, port] = /https:\/\/127\.0\.0\.1:(\d+)\//.exec(line) ?? [];
    if (port !== undefined) return Number(port);
  }
  throw new StepError('The gateway did not serve in the minimal system.', { cause: `it ended with ${await end}` });
}

/** Loads the page in Chromium. Returns the protocol that it came over, and its heading. */
async function visit(port, signal) {
  const { launchChromium } = await import(browserModule);
  const browser = await launchChromium([
    `--ignore-certificate-errors-spki-list=${await keyOf(port)}`,
    `--origin-to-force-quic-on=localhost:${port}`,
    '--host-resolver-rules=MAP localhost 127.0.0.1',
  ]);
  const close = () => void browser.close();
  signal.addEventListener('abort', close);
  try {
    const page = await browser.newPage();
    await page.goto(`https://localhost:${port}/`);
    return await page.evaluate(() => ({
      protocol: performance.getEntriesByType('navigation')[0].nextHopProtocol,
      heading: document.querySelector('h1')?.textContent,
    }));
  } finally {
    signal.removeEventListener('abort', close);
    await browser.close();
  }
}

/** Returns the hash of the gateway's public key, by which Chromium takes its development certificate. */
async function keyOf(port) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { publicKey } = socket.getPeerX509Certificate();
  socket.destroy();
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
}

/** Removes the folder. What was mounted in it must be gone, or its content would be removed with it. */
function tearDown(directory) {
  const mounts = mountsBelow(directory);
  if (mounts.length > 0)
    throw new StepError(`${directory} was not removed.`, {
      cause: 'it has mounts',
      command: `umount ${mounts.join(' ')}`,
    });
  mustRun(`${directory} was not removed.`, 'rm', ['-rf', '--one-file-system', directory]);
}

async function main() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
  const reason = whySkipped();
  if (reason !== undefined) {
    progress(`skipped: ${reason}`);
    return;
  }
  const interruption = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => interruption.abort(new Error(name)));
  const signal = AbortSignal.any([interruption.signal, AbortSignal.timeout(Number(values.minutes) * 60_000)]);
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'sheaf-minimal-')));
  try {
    await tryPackages(directory, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new StepError('The run was ended before its end.', { cause: String(signal.reason) });
  } finally {
    tearDown(directory);
  }
}

await main().catch(report);
