import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gatewayYaml, sitesYaml } from '../support/deployable.js';
import { sheaf, temporaryDirectory, type Outcome } from '../support/world.js';

async function refused(yaml: string, ...args: readonly string[]): Promise<Outcome> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), yaml);
  return sheaf(['deploy', ...args], directory);
}

const edge =
  'nodes:\n  laptop: { role: edge, gateway: site, tls: { cert: c, key: k } }\n  site: { role: gateway, listen: ":443", routes: [{ files: . }] }\n';

describe('a node that would not work there is refused, with a fix', () => {
  it.each([
    ['a development certificate', gatewayYaml.replace(/tls:.*\n/, ''), ['systemd'], 'tls: { cert:'],
    ['a port of the system', gatewayYaml.replace('":443"', '127.0.0.1:0'), ['systemd'], 'listen: ":443"'],
    ['a site in a home directory', gatewayYaml.replace('/srv/site', '/home/me/site'), ['systemd'], 'move it to /srv'],
    ['no address for its health', gatewayYaml.replace(/admin:.*\n/, ''), ['compose'], 'add `admin: 127.0.0.1:9433`'],
    ['a log file', `${gatewayYaml}log: { file: ./log }\n`, ['compose'], 'remove `log.file`'],
    ['qlog files', `${gatewayYaml}qlog: ./qlog\n`, ['kubernetes'], 'remove `qlog`'],
    ['a loopback address', gatewayYaml.replace('":443"', '127.0.0.1:443'), ['kubernetes'], 'listen: ":443"'],
    ['packets from elsewhere', sitesYaml, ['compose', '--node', 'images'], 'via: own-address'],
    [
      'programs of its machine',
      sitesYaml.replace('    socks5', '    admin: 127.0.0.1:9435\n    socks5'),
      ['kubernetes', '--node', 'laptop'],
      'sheaf deploy systemd',
    ],
    [
      'a key of its own machine',
      sitesYaml.replace('key: { file: /etc/sheaf/site.key }', 'key: dev'),
      ['systemd', '--node', 'site'],
      'sheaf keys new site',
    ],
    [
      'a peer whose key is elsewhere',
      sitesYaml.replace(/ *public_key: ed25519:B.*\n/, ''),
      ['systemd', '--node', 'site'],
      'sheaf keys show images',
    ],
    [
      'a registry of this machine',
      `${gatewayYaml}key: { file: ./k }\nregistry: {}\n`,
      ['systemd'],
      'your servers of NATS',
    ],
    [
      'a key that a fleet knows, and its own machine makes',
      `${gatewayYaml}registry: { nats: "nats://10.0.0.1:4222" }\n`,
      ['kubernetes'],
      'sheaf keys new gateway',
    ],
    [
      'workers without a number',
      `${gatewayYaml}workers: auto\n`,
      ['systemd', '--socket-unit'],
      'write the number, such as `workers: 4`',
    ],
    [
      'sockets for programs of its machine',
      sitesYaml,
      ['systemd', '--node', 'laptop', '--socket-unit'],
      'leave out --socket-unit',
    ],
    ['a gateway of this machine', edge, ['systemd', '--node', 'laptop'], 'gateway: { address:'],
  ])('%s', async (_what, yaml, args, fix) => {
    const { code, err } = await refused(yaml, ...args);
    expect([code, err]).toEqual([2, expect.stringContaining('error[DEPLOYMENT_UNFIT]')]);
    expect(err).toMatch(/ --> .*sheaf\.yaml:\d+:\d+/);
    expect(err).toContain(fix);
  });

  it('several nodes at once', async () => {
    const { code, err } = await refused(sitesYaml, 'systemd');
    expect([code, err]).toEqual([2, expect.stringContaining('--node site, --node images, --node laptop')]);
  });
});

it('files that are there are kept, until they may be overwritten', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), gatewayYaml);
  expect((await sheaf(['deploy', 'systemd'], directory)).code).toBe(0);
  const again = await sheaf(['deploy', 'systemd'], directory);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('error[CONFIG_EXISTS]')]);
  expect((await sheaf(['deploy', 'systemd', '--force'], directory)).code).toBe(0);
  const blocked = await sheaf(['deploy', 'systemd', '--out', 'sheaf.yaml'], directory);
  expect([blocked.code, blocked.err]).toEqual([3, expect.stringContaining('error[FILE_UNWRITABLE]')]);
});
