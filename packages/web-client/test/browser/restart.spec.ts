import { carriers, demoState, expect, loaderStatus, openThroughStart, test } from './fixtures.js';

const LIVE_STATE = '#state';

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`after a restart by ${signal} the open page goes on over a new session`, async ({ page, gateway }) => {
    await openThroughStart(page, gateway.httpUrl, '/');
    expect(carriers(await demoState(page))).toEqual(['WebTransport']);
    const code = await gateway.stop(signal);
    expect(code).toBe(signal === 'SIGTERM' ? 0 : null);
    await gateway.run();
    await expect
      .poll(async () => {
        await page.reload();
        return carriers(await demoState(page));
      })
      .toEqual(['WebTransport']);
    expect((await loaderStatus(page)).session.sessions).toBeGreaterThan(1);
  });
}

test('after a restart with another certificate the loader learns its hash', async ({ page, gateway }) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  await demoState(page);
  const before = await gateway.publicKeyHash();
  await gateway.stop();
  await gateway.forgetCertificate();
  await gateway.run();
  expect(await gateway.publicKeyHash()).not.toBe(before);
  await expect
    .poll(async () => {
      await page.reload();
      return carriers(await demoState(page));
    })
    .toEqual(['WebTransport']);
});

test('the live page says that its session is lost and opens another', async ({ page, gateway }) => {
  await openThroughStart(page, gateway.httpUrl, '/live/');
  await expect(page.locator(LIVE_STATE)).toHaveAttribute('data-state', 'open');
  await gateway.stop();
  await expect(page.locator(LIVE_STATE)).toHaveAttribute('data-state', 'lost');
  await gateway.run();
  await expect(page.locator(LIVE_STATE)).toHaveAttribute('data-state', 'open');
  const finished = Number(await page.textContent('#streams'));
  await expect.poll(async () => Number(await page.textContent('#streams'))).toBeGreaterThan(finished);
});
