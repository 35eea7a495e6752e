import { describe, expect, test } from 'vitest';
import { RequestOrder } from '../src/service_worker/request_order.js';

const site = 'https://a.test';
const page = { clientId: 'page', resultingClientId: '' };

/** Loads a document with this markup; what follows is asked for by it. */
async function open(order: RequestOrder, url: string, markup: string): Promise<void> {
  const { hints, release } = order.place({ url, destination: 'document' }, { clientId: '', resultingClientId: 'page' });
  await new Response(hints!.observe(new Response(markup).body!)).text();
  release();
}

describe('the order of requests', () => {
  test('follows the markup of the page that asks', async () => {
    const order = new RequestOrder();
    await open(order, `${site}/`, '<script src=/a.js async></script><script src=/b.js></script>');
    const urgency = (path: string, asker = page): number =>
      order.place({ url: site + path, destination: 'script' }, asker).priority.urgency;
    expect([urgency('/b.js'), urgency('/a.js')]).toEqual([1, 3]);
    expect(urgency('/b.js', { ...page, clientId: 'another page' })).toBe(3);
  });

  test('has the document of a frame behind the pictures that are seen first', async () => {
    const order = new RequestOrder();
    await open(
      order,
      `${site}/`,
      '<iframe src=/frame></iframe><img src=/a.png><iframe src=/late loading=lazy></iframe>',
    );
    const urgency = (path: string, destination: RequestDestination): number =>
      order.place({ url: site + path, destination }, { ...page, resultingClientId: 'frame' }).priority.urgency;
    expect([urgency('/a.png', 'image'), urgency('/frame', 'iframe'), urgency('/late', 'frame')]).toEqual([2, 3, 3]);
    expect(urgency('/next', 'document')).toBe(0);
  });

  test('is that of the style which the URL of the page chooses, for all that it asks for', async () => {
    const order = new RequestOrder();
    await open(order, `${site}/?sheaf-style=safari`, '');
    const image = { url: `${site}/x`, destination: 'image' } as const;
    expect(order.place(image, page).priority.dependency).toMatchObject({ parent: 0, weight: 8 });
    const frame = { url: `${site}/frame`, destination: 'iframe' } as const;
    expect(order.place(frame, { clientId: 'page', resultingClientId: 'frame' }).priority.dependency).toMatchObject({
      weight: 256,
    });
    expect(order.place(image, { ...page, clientId: 'frame' }).priority.dependency).toMatchObject({ weight: 8 });
    await open(order, `${site}/?sheaf-style=firefox`, '');
    expect(order.place(image, page).priority.dependency).toMatchObject({ parent: 11, weight: 42 });
  });

  test('is that of its own page where two are loaded at one time', () => {
    const order = new RequestOrder();
    const navigate = (style: string, client: string): void => {
      order.place(
        { url: `${site}/?sheaf-style=${style}`, destination: 'document' },
        { clientId: '', resultingClientId: client },
      );
    };
    navigate('safari', 'one');
    navigate('firefox', 'two');
    const weights = ['one', 'two'].map(
      (clientId) => order.place({ url: site, destination: 'image' }, { ...page, clientId }).priority.dependency?.weight,
    );
    expect(weights).toEqual([8, 42]);
  });

  test.each(['', '?sheaf-style=', '?sheaf-style=opera', '?sheaf-style=constructor'])(
    'is the usual one for %j',
    async (query) => {
      const order = new RequestOrder();
      await open(order, `${site}/${query}`, '');
      expect(order.place({ url: `${site}/x`, destination: 'image' }, page).priority).toEqual({
        urgency: 3,
        incremental: true,
      });
      order.defaultStyle = 'chrome';
      await open(order, `${site}/${query}`, '');
      expect(order.place({ url: `${site}/x`, destination: 'image' }, page).priority.dependency?.weight).toBe(147);
    },
  );

  test('gives every stream its own node, and none that a group has', async () => {
    const order = new RequestOrder();
    await open(order, `${site}/?sheaf-style=firefox`, '');
    const nodes = Array.from(
      { length: 500 },
      () => order.place({ url: site, destination: 'image' }, page).priority.dependency!.node,
    );
    expect(new Set(nodes).size).toBe(500);
    expect(Math.min(...nodes)).toBeGreaterThanOrEqual(16);
  });

  test('leaves out of the chain what has ended', async () => {
    const order = new RequestOrder();
    await open(order, `${site}/?sheaf-style=chrome-chain`, '');
    const first = order.place({ url: site, destination: 'script' }, page);
    const second = order.place({ url: site, destination: 'script' }, page);
    expect(second.priority.dependency?.parent).toBe(first.priority.dependency?.node);
    first.release();
    second.release();
    expect(order.place({ url: site, destination: 'script' }, page).priority.dependency?.parent).toBe(0);
  });

  test('forgets the markup of old pages', async () => {
    const order = new RequestOrder();
    await open(order, `${site}/`, '<script src=/b.js></script>');
    for (let index = 0; index < 40; index += 1) {
      order.place({ url: site, destination: 'iframe' }, { clientId: 'page', resultingClientId: `frame ${index}` });
    }
    expect(order.place({ url: `${site}/b.js`, destination: 'script' }, page).priority.urgency).toBe(3);
  });
});
