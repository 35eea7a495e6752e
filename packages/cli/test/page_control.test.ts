import { once } from 'node:events';
import { request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { BackendControl } from '../src/demo/backend_control.js';
import { LiveControl } from '../src/demo/live_control.js';
import { PageControl } from '../src/demo/page_control.js';

const own = { host: 'localhost:8080', origin: 'http://localhost:8080', 'sheaf-demo': '1' };

/** A site that writes down what it is told to do. */
async function startControl(): Promise<{
  ask: (method: string, path: string, headers: Record<string, string>) => Promise<{ status: number; text: string }>;
  done: string[];
}> {
  const done: string[] = [];
  const backends = new BackendControl({
    backends: () => [{ name: 'backend1' }],
    act(name, action) {
      if (name === 'broken') return Promise.reject(new Error('it does not start'));
      if (name !== 'backend1') return Promise.resolve(false);
      done.push(`${action} ${name}`);
      return Promise.resolve(true);
    },
  });
  const control = new PageControl(backends);
  const origin = new URL(await control.listen());
  onTestFinished(() => control.close());
  expect(origin.hostname).toBe('127.0.0.1');
  control.serve([8080]);
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; text: string }> => {
    const sent = request({ host: origin.hostname, port: origin.port, method, path, headers }).end();
    const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
    let text = '';
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode ?? 0, text };
  };
  return { ask, done };
}

it('the demo does what its own page asks', async () => {
  const { ask, done } = await startControl();
  expect(await ask('GET', '/demo/backends', { host: '127.0.0.1:8080' })).toEqual({
    status: 200,
    text: '{"backends":[{"name":"backend1"}]}',
  });
  for (const action of ['kill', 'start', 'drain', 'resume'])
    expect((await ask('POST', `/demo/backends/backend1/${action}`, own)).status).toBe(200);
  expect(
    (
      await ask('POST', '/demo/backends/backend1/kill', {
        ...own,
        host: '127.0.0.1:8080',
        origin: 'https://127.0.0.1:8080',
      })
    ).status,
  ).toBe(200);
  expect(done).toEqual(['kill backend1', 'start backend1', 'drain backend1', 'resume backend1', 'kill backend1']);
});

it.each([
  [
    'a name that was made to resolve to this machine',
    'POST',
    { ...own, host: 'evil.example:8080', origin: 'http://evil.example:8080' },
    421,
  ],
  ['another port', 'POST', { ...own, host: 'localhost:8081' }, 421],
  ['another origin', 'POST', { ...own, origin: 'http://localhost:8081' }, 403],
  ['an origin that is hidden', 'POST', { ...own, origin: 'null' }, 403],
  ['nobody knows where', 'POST', { host: own.host, 'sheaf-demo': '1' }, 403],
  ['a form', 'POST', { host: own.host, origin: own.origin }, 403],
  ['a picture', 'GET', own, 404],
  ['another method', 'PUT', own, 405],
])('the demo does nothing for a request from %s', async (_who, method, headers, status) => {
  const { ask, done } = await startControl();
  expect((await ask(method, '/demo/backends/backend1/kill', headers)).status).toBe(status);
  expect(done).toEqual([]);
});

it('the demo says what it cannot do', async () => {
  const { ask, done } = await startControl();
  expect((await ask('POST', '/demo/backends/backend9/kill', own)).status).toBe(404);
  expect((await ask('POST', '/demo/backends/backend1/explode', own)).status).toBe(404);
  expect((await ask('GET', '/demo/backends', { host: 'evil.example' })).status).toBe(421);
  expect(await ask('POST', '/demo/backends/broken/start', own)).toEqual({ status: 500, text: 'it does not start' });
  expect(done).toEqual([]);
});

it('the demo cuts its tree and mends it', async () => {
  const cuts: boolean[] = [];
  const control = new LiveControl({
    report: () => Promise.resolve({ cuts }),
    setCut: (isCut) => void cuts.push(isCut),
  });
  for (const action of ['cut', 'mend'])
    expect(await control.act(`/demo/tree/${action}`)).toMatchObject({ status: 200 });
  expect(control.act('/demo/tree/burn')).toBeUndefined();
  expect(await control.read('/demo/tree')).toEqual({ cuts: [true, false] });
  expect(control.read('/demo/trees')).toBeUndefined();
});
