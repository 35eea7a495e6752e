import AxeBuilder from '@axe-core/playwright';
import { devices, expect, type Page } from '@playwright/test';

const phone = {
  viewport: devices['iPhone 13'].viewport,
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};

/** How a page may be looked at. */
export const looks = [
  { name: 'light', options: { colorScheme: 'light' } },
  { name: 'dark', options: { colorScheme: 'dark' } },
  { name: 'phone-light', options: { ...phone, colorScheme: 'light' } },
  { name: 'phone-dark', options: { ...phone, colorScheme: 'dark' } },
] as const;

/** What a page may be shown on: it is loaded once for each. */
export const screens = [
  { screen: 'desk', prefix: '', options: {} },
  { screen: 'phone', prefix: 'phone-', options: phone },
] as const;

/** Calls `look` with the name of each look that the page has on its screen. */
export async function inEachLook(page: Page, prefix: string, look: (name: string) => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await look(`${prefix}${colorScheme}`);
  }
}

/** The page is no wider than its window, and accessible. */
export async function expectGoodLooks(page: Page): Promise<void> {
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overflow).toBe(0);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
}
