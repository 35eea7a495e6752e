// Builds programs of foreign implementations for the interoperability tests. Go and Rust come from Debian if they are
// absent or too old (apt.mjs); the versions of their libraries are locked.
import { join } from 'node:path';
import { StepError, capture, commandLine, run } from './process.mjs';
import { makePythonEnvironment } from './python_environment.mjs';
import { filesBelow, root } from './stamp.mjs';

const source = join('packages', 'bench', 'interop');
const goPrograms = ['newest', 'webtransport', 'draft02', 'x_net', 'masque'];
const rustPrograms = ['noq-interop', 'quinn-interop', 's2n-quic-interop'];

/** Oldest sufficient versions. From 1.21 on, Go fetches the version that a module asks for. */
const oldest = { go: [1, 21], cargo: [1, 95] };
const versionArguments = { go: ['version'], cargo: ['--version'] };

/**
 * Returns the command to call: the one on the path, or Debian's if that is too old or absent; undefined without either.
 */
export function toolchain(name) {
  return [name, `/usr/bin/${name}`].find((command) => isRecent(capture(command, versionArguments[name]), oldest[name]));
}

/** Parses output such as `go version go1.26.8 linux/amd64` and `cargo 1.95.0 (f2d3ce0bd 2026-03-21)`. */
export function isRecent(output, [oldestMajor, oldestMinor]) {
  const [major = 0, minor = 0] = (/\b(?:go)?(\d+)\.(\d+)/.exec(output ?? '')?.slice(1) ?? []).map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

export const aioquic = {
  name: 'interop',
  title: 'aioquic, qh3 and curl for the interoperability tests',
  inputs: () => [join(source, 'requirements.txt')],
  outputs: ['.sheaf/interop/bin/python'],
  run: () =>
    makePythonEnvironment({
      environment: join('.sheaf', 'interop'),
      requirements: join(source, 'requirements.txt'),
      what: 'aioquic, qh3 and curl',
    }),
};

export const go = {
  name: 'interop-go',
  title: 'quic-go, webtransport-go, masque-go and golang.org/x/net/quic for the interoperability tests',
  inputs: () => filesBelow(join(source, 'go')),
  outputs: goPrograms.map((name) => join('.sheaf', 'interop-go', name)),
  async run() {
    for (const name of goPrograms) {
      const args = ['build', '-trimpath', '-buildvcs=false', '-o', join(root, '.sheaf', 'interop-go', name), '.'];
      await build(`The Go program ${name} does not build.`, required('go'), args, {
        cwd: join(root, source, 'go', name),
        env: { GOTOOLCHAIN: 'auto', GOFLAGS: '' },
      });
    }
  },
};

export const rust = {
  name: 'interop-rust',
  title: 'noq, quinn and s2n-quic for the interoperability tests',
  inputs: () => [
    ...[
      'Cargo.toml',
      'Cargo.lock',
      'body.rs',
      'counting_verifier.rs',
      'options.rs',
      'tickets.rs',
      'noq',
      'quinn',
      's2n-quic',
    ].flatMap((name) => filesBelow(join(source, name))),
    join('packages', 'bench', 'peers', 'unchecked_tls.rs'),
  ],
  outputs: rustPrograms.map((name) => join(source, 'target', 'release', name)),
  async run() {
    const cwd = join(root, source);
    const cargo = required('cargo');
    // Debian's cargo would call the rustc on the path, which may be too old.
    const env = {
      CARGO_TARGET_DIR: join(cwd, 'target'),
      ...(cargo.startsWith('/usr/bin/') ? { RUSTC: '/usr/bin/rustc' } : {}),
    };
    await build('The Rust programs do not build.', cargo, ['build', '--release', '--locked', '--quiet'], { cwd, env });
  },
};

function required(name) {
  const command = toolchain(name);
  if (command !== undefined) return command;
  throw new StepError(`${name} ${oldest[name].join('.')} or newer is missing.`, {
    cause: 'the interoperability tests build programs with it',
    command: 'npm run setup   # as root',
  });
}

async function build(title, command, args, options) {
  const code = await run(command, args, { cwd: root, ...options });
  if (code === 0) return;
  throw new StepError(title, {
    cause: `ended with ${code}; its message is above`,
    command: commandLine(command, args),
  });
}
