import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fileOf, modules, startModulesGateway, type ModulesGateway } from './modules_gateway.js';
import { aioquicClient, aioquicSessions } from './programs.js';

/** CLOSE_WEBTRANSPORT_SESSION with code 1 and `application failed`. */
const closedByFailure = `6843${(4 + 'application failed'.length).toString(16).padStart(2, '0')}00000001${Buffer.from('application failed').toString('hex')}`;

let gateway: ModulesGateway;
beforeAll(async () => {
  // Sessions of clients that fall silent end with their connections.
  gateway = await startModulesGateway({ limits: 'idle: 3s' });
});
afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
});

describe.each(Object.entries(modules))('a module that %s', (name, cost) => {
  test(`costs ${cost}, however streams, sessions and connections end`, async () => {
    const sessions = await aioquicSessions(gateway.port, `/${name}`);
    expect(sessions).toHaveLength(12);
    for (const session of sessions) expect(session).toMatchObject({ status: 200 });
    if (cost === 'every session')
      for (const { said } of sessions.filter(({ ending }) => ending !== 'silence')) expect(said).toBe(closedByFailure);

    await gateway.allEnded();
    expect(await aioquicClient('webtransport', gateway.port, '/echo')).toEqual({
      status: 200,
      bidirectional: true,
      unidirectional: true,
      datagram: true,
    });

    const lines = (await gateway.logLines()).filter(({ route }) => route === `/${name}`);
    expect(lines.filter(({ msg }) => msg === 'webtransport session')).toHaveLength(sessions.length);
    const failures = lines.filter(({ msg }) => msg === 'WebTransport application failed');
    if (cost === 'nothing') expect(failures).toEqual([]);
    else expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatchObject({ application: fileOf(name), path: `/${name}` });
    const counted =
      new RegExp(`^sheaf_webtransport_application_failures_total\\{route="/${name}"\\} (\\d+)$`, 'm').exec(
        await gateway.admins('/metrics'),
      )?.[1] ?? '0';
    expect(Number(counted)).toBeGreaterThanOrEqual(failures.length);
  });
});

test('a failure outside of all sessions names the module, and is counted', async () => {
  expect(await aioquicSessions(gateway.port, '/listens')).toHaveLength(12);
  await gateway.allEnded();
  const lines = (await gateway.logLines()).filter(
    ({ msg }) => msg === 'WebTransport application failed outside of its sessions',
  );
  expect(lines).toHaveLength(12);
  for (const line of lines)
    expect(line).toMatchObject({
      application: fileOf('listens'),
      kind: 'exception',
      err: { message: 'the tick of a clock' },
    });
  expect(await gateway.admins('/metrics')).toContain('sheaf_stray_errors_total{kind="exception"} 12\n');
});
