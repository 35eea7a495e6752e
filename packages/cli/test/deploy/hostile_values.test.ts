import { execFile, execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { filesOfNode, parseConfiguration } from '@sheaf/gateway';
import { describe, expect, it } from 'vitest';
import { systemdWord } from '../../src/deploy/quoting.js';
import { deployed } from '../support/deployable.js';
import { checker, ended, missing } from '../support/deploy_checks.js';
import { sheaf, temporaryDirectory } from '../support/world.js';

const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (skipped: ${reason})`);
const noCompose = missing(checker('docker-compose'), ['version']);
const serviceManager = '/lib/systemd/systemd';
const noManager = missing(serviceManager, ['--version']);

/** The parser of the gateway, which reads YAML 1.2 */
const { parseAllDocuments } = createRequire(new URL('../../../gateway/package.json', import.meta.url))('yaml') as {
  parseAllDocuments: (text: string) => { errors: unknown[]; toJS(): unknown }[];
};

/** Returns every text in a YAML file. */
function textsOf(file: string | undefined): string[] {
  const collect = (value: unknown): string[] => {
    if (typeof value === 'string') return [value];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(collect) : [];
  };
  return parseAllDocuments(file ?? '').flatMap((document) => {
    expect(document.errors).toEqual([]);
    return collect(document.toJS());
  });
}

/** Names of files that mean something in one of the formats */
const names = [
  '100%n %%i %h',
  '$HOME ${X:-y} $$ $(id) `id`',
  `"quoted" 'too' ""`,
  String.raw`a\x2f\n\\ \u000a b\\`,
  ' # comment ; still',
  'a:b: [c, d] {e: f} - ? & * !g | > @',
  '日本 é 😀 \u202e\u200d\ufeff',
  'yes',
  '~ null',
  '-n',
  "'; id #",
  '\u00a0\u3000',
];

const yamlOf = (name: string): string => `listen: "[fe80::1%eth0]:443"
tls: { cert: ${JSON.stringify(`/etc/sheaf/${name}`)}, key: ${JSON.stringify(`/etc/sheaf/${name}/key`)} }
secrets: ${JSON.stringify(`/etc/${name}/secrets`)}
admin: "[fe80::1%eth0]:9433"
key: { file: ${JSON.stringify(`/etc/${name}/node.key`)} }
registry: { nats: ${JSON.stringify('nats://$(id)`id`;"\'%n\\:4222')}, credentials: ${JSON.stringify(`/etc/sheaf/${name}/nats`)} }
routes:
  - { path: /chat, webtransport: ${JSON.stringify(`/srv/${name}/${name}`)} }
  - { files: ${JSON.stringify(`/srv/${name}`)} }
`;

const credentialsOf = (name: string): string[] => [
  `/etc/sheaf/${name}`,
  `/etc/sheaf/${name}/key`,
  `/etc/${name}/secrets`,
  `/etc/${name}/node.key`,
  `/etc/sheaf/${name}/nats`,
];

const image = 'x/y:$(id) ${X} "\'\\ # é';

/** Returns the arguments that a shell hands to the commands of the next steps, which begin with one of these words. */
function argumentsOf(printed: string, ...commands: readonly string[]): string[][] {
  const [, steps = ''] = printed.split('\nnext:\n');
  const wanted = steps.split('\n').filter((line) => commands.some((command) => line.trim().startsWith(`${command} `)));
  // Each command prints its arguments, and its name is not looked up.
  const functions = commands.map((command) => `${command}() { printf '%s\\0' "$@"; printf '\\n'; }`).join('; ');
  const out = execFileSync('sh', ['-c', `${functions}; ${wanted.join('\n')}`], { encoding: 'utf8', cwd: '/' });
  return out
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\0').slice(0, -1));
}

/** Returns what systemd itself reads of a unit: it does not say credentials, but files of the same form. */
async function readBySystemd(lines: readonly string[]): Promise<{ files: string[]; commands: string[][] }> {
  const directory = await temporaryDirectory();
  const unit = ['[Unit]', 'DefaultDependencies=no', '[Service]', 'Type=oneshot', ...lines, ''].join('\n');
  await writeFile(join(directory, 'hostile.service'), unit);
  await chmod(directory, 0o755);
  // It does not test as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { stdout } = await promisify(execFile)(
    serviceManager,
    ['--test', '--system', '--unit=hostile.service', '--no-pager'],
    { ...user, env: { SYSTEMD_UNIT_PATH: directory, XDG_RUNTIME_DIR: directory }, maxBuffer: 2 ** 24 },
  );
  const after = (label: string): string[] =>
    stdout
      .split('\n')
      .flatMap((line) => (line.trimStart().startsWith(label) ? [line.trimStart().slice(label.length)] : []));
  return {
    files: after('EnvironmentFile: '),
    // Words stand in quotes where they have other characters than letters.
    commands: after('Command Line: ').map((line) =>
      [...line.matchAll(/"((?:[^"\\]|\\.)*)"|([^ ]+)/g)].map(([, quoted, word]) =>
        (quoted ?? word ?? '').replaceAll(/\\(.)/g, '$1'),
      ),
    ),
  };
}

const linesOf = (text: string | undefined, setting: string): string[] =>
  (text ?? '').split('\n').filter((line) => line.startsWith(setting));

describe('names of files that mean something elsewhere', () => {
  it.skipIf(noManager !== undefined)(`are what systemd reads${because(noManager)}`, async () => {
    const written = await Promise.all(names.map((name) => deployed(yamlOf(name), 'systemd')));
    const settings = written.flatMap(({ files }) =>
      linesOf(files['sheaf@gateway.service.d/node.conf'], 'LoadCredential='),
    );
    const programs = names.filter((name) => !/["'\\]/.test(name)).map((name) => `/opt/${name}/sheaf`);
    const units = await Promise.all(programs.map((program) => deployed(yamlOf('x'), 'systemd', '--program', program)));
    const starts = units.flatMap(({ files }) => linesOf(files['sheaf@.service'], 'ExecStart='));
    // Behind the colon, no `$` is a variable.
    expect(starts.every((line) => line.startsWith('ExecStart=:'))).toBe(true);
    const { files, commands } = await readBySystemd([
      ...settings.map((line) => line.replace(/^LoadCredential=[\w-]+:/, 'EnvironmentFile=')),
      ...starts,
      `ExecStart=:/bin/true ${names.map(systemdWord).join(' ')}`,
    ]);
    expect(files).toEqual(names.flatMap(credentialsOf));
    expect(commands.map(([program]) => program)).toEqual([...programs, '/bin/true']);
    expect(commands.at(-1)?.slice(1)).toEqual(names);
  });

  it.each(names)('are what YAML and the shell read: %j', async (name) => {
    const [compose, kubernetes] = await Promise.all([
      deployed(yamlOf(name), 'compose', `--image=${image}`),
      deployed(yamlOf(name), 'kubernetes', `--image=${image}`),
    ]);
    const interpolated = textsOf(compose.files['compose.yaml']).map((text) => {
      expect(text.replaceAll('$$', '')).not.toContain('$');
      return text.replaceAll('$$', '$');
    });
    for (const text of [image, `/srv/${name}`, 'fe80::1%eth0'])
      expect(interpolated.some((each) => each === text || each === `[${text}]:9433`)).toBe(true);
    expect(textsOf(kubernetes.files['deployment.yaml'])).toContain(image);
    for (const { printed } of [compose, kubernetes]) {
      const copied = argumentsOf(printed, 'sudo', 'install').map((words) => words.at(-2));
      for (const path of credentialsOf(name).slice(0, 4)) expect(copied).toContain(path);
    }
    expect(argumentsOf(kubernetes.printed, 'docker')).toEqual([
      ['build', '--tag', image, '.'],
      ['push', image],
    ]);
  });

  it.each(names)('are where the moved configuration says: %j', async (name) => {
    const { files } = await deployed(yamlOf(name), 'systemd');
    const [node] = parseConfiguration(files['gateway.yaml'] ?? '', '/x.yaml').nodes;
    expect(filesOfNode(node!).map(({ path }) => path)).toContain(`/srv/${name}/${name}`);
  });

  it.skipIf(noCompose !== undefined)(`are what Compose reads${because(noCompose)}`, async () => {
    const routes = names.map((name, at) => `  - { path: /${at}/, files: ${JSON.stringify(`/srv/${name}`)} }\n`);
    const yaml = yamlOf('x').replace(/routes:\n(?:.*\n)*/, () => `routes:\n${routes.join('')}`);
    const { out } = await deployed(yaml, 'compose', `--image=${image}`);
    const check = await ended(checker('docker-compose'), ['-f', 'compose.yaml', 'config', '--format', 'json'], out);
    expect(check.code).toBe(0);
    // It writes a file of Compose again, with `$$` for `$`.
    const { services } = JSON.parse(check.output.replaceAll('$$', '$')) as {
      services: { sheaf: { image: string; volumes: { source: string }[] } };
    };
    expect(services.sheaf.image).toBe(image);
    expect(services.sheaf.volumes.map(({ source }) => source)).toEqual(names.map((name) => `/srv/${name}`));
  });
});

it('a zone of an address is no specifier of a socket unit', async () => {
  const { files } = await deployed(yamlOf('x'), 'systemd', '--socket-unit');
  expect(linesOf(files['sheaf@gateway.socket'], 'Listen')).toEqual([
    'ListenStream=[fe80::1%%eth0]:443',
    'ListenDatagram=[fe80::1%%eth0]:443',
  ]);
});

async function refusal(yaml: string, ...args: readonly string[]): Promise<string> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), yaml);
  const { code, err } = await sheaf(['deploy', ...args], directory);
  expect([code, err]).toEqual([2, expect.stringContaining('error[DEPLOYMENT_UNFIT]')]);
  expect(err).toContain('hint: ');
  return err;
}

const characters = ['0000', '0009', '000A', '000D', '001B', '007F', '0085', '2028', '2029', 'D800', 'FFFF'];
const options = {
  'tls.cert': '"/etc/sheaf/x"',
  'tls.key': '"/etc/sheaf/x/key"',
  secrets: '"/etc/x/secrets"',
  'key.file': '"/etc/x/node.key"',
  'registry.credentials': '"/etc/sheaf/x/nats"',
  'routes[0].webtransport.application': '"/srv/x/x"',
  'routes[1].files.root': '"/srv/x"',
} as const;

describe('what cannot be written is refused', () => {
  it.each(characters)('the character U+%s', async (code) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    const target = ['systemd', 'compose', 'kubernetes'][characters.indexOf(code) % 3]!;
    for (const [option, value] of Object.entries(options)) {
      const err = await refusal(yamlOf('x').replace(value, `${value.slice(0, -1)}\\u${code}User=root"`), target);
      expect(err).toContain(`\`${option}\` has the character U+${code}`);
      expect(err).toMatch(/ --> .*sheaf\.yaml:\d+:\d+/);
      if (option === 'registry.credentials') expect(err).toContain('sheaf.yaml:6:');
      // Nor does it reach a terminal.
      if (character !== '\n') expect(err).not.toContain(character);
    }
    const nats = yamlOf('x').replace(/nats: ".*?:4222"/, () => `nats: "nats://a\\u${code}b:4222"`);
    // White space is not in names of servers anyway.
    if (!/\s/.test(character)) expect(await refusal(nats, target)).toContain('`registry.nats` has the character');
    for (const option of ['--program=/opt/', '--image=', '--out='])
      expect(await refusal(yamlOf('x'), target, `${option}${character}User=root`)).toContain(`U+${code}`);
  });

  it.each([
    ['space ', 'ends in a space'],
    ['backslash\\', 'ends in a backslash'],
    ['backslashes\\\\\\', 'ends in a backslash'],
  ])('the end of a line of a unit: %j', async (name, message) => {
    const yaml = yamlOf('x').replace(options['tls.cert'], JSON.stringify(`/etc/sheaf/${name}`));
    expect(await refusal(yaml, 'systemd')).toContain(`\`tls.cert\` ${message}`);
    const { files } = await deployed(yaml, 'compose');
    expect(Object.keys(files)).toContain('compose.yaml');
  });

  it.each(['./sheaf', '/opt/"x"', "/opt/'x'", '/opt/\\x', '/opt/', '-sheaf', '+sheaf', '!sheaf', ''])(
    'a program that no unit can run: %j',
    async (program) => {
      expect(await refusal(yamlOf('x'), 'systemd', `--program=${program}`)).toContain('`--program`');
    },
  );

  it.each([
    ['systemd', 'a'.repeat(300), 'name of a unit'],
    ['kubernetes', 'a'.repeat(60), 'no objects with the name of this node'],
    ['kubernetes', 'a_', 'no objects with the name of this node'],
  ])('a name for %s: %s', async (target, name, message) => {
    const node = yamlOf('x')
      .replaceAll(/^(?!registry)/gm, '    ')
      .replace(/^registry.*\n/m, '');
    expect(await refusal(`nodes:\n  ${name}:\n    role: gateway\n${node}`, target)).toContain(message);
  });

  it('a name of a fleet and one of a channel', async () => {
    const site = yamlOf('x').replace('registry: {', 'registry: { site: a-,');
    expect(await refusal(site, 'kubernetes')).toContain('the name of `site`');
    const channel = `${yamlOf('x')}channels: { ${'a'.repeat(250)}: { authentication: signed, key: /k } }\n`;
    expect(await refusal(channel, 'systemd')).toContain('name of a channel');
  });
});
