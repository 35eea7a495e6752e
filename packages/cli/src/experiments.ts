import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorMessage, UserError, version } from '@sheaf/gateway/client';
import type { Writable } from 'node:stream';
import type { AddCommand } from './command.js';
import type { World } from './world.js';

/** Commands of @sheaf/bench. The help lists them whether or not it is installed. */
export const experimentCommands = {
  record: {
    usage: 'record <file>',
    summary: 'Make a page for experiments from a HAR file: sizes, types and order, no contents',
  },
  bench: { usage: 'bench <name>', summary: 'Run an experiment and print its table' },
  evidence: {
    usage: 'evidence <action> [ids..]',
    summary: 'Rerun the experiments of published papers, and show their figures beside ours',
  },
} as const;
export type ExperimentCommandName = keyof typeof experimentCommands;

/** The demo page to load, and the destination of the report */
export interface BrowserDemoTarget {
  /** URL of the gateway with TLS */
  readonly httpsUrl: string;
  /** URL of the same gateway without TLS */
  readonly httpUrl: string;
  /** Base64 of the SHA-256 of the certificate's public key, which the browser accepts */
  readonly publicKeyHash: string;
  /** Receives a line for each transport that is tried. */
  readonly progress?: Writable;
  /** Directory for screenshots; default: `.sheaf/demo` in the working directory */
  readonly screenshots?: string;
}

/** The pages of the live demo, and the destination of the report */
export interface LiveDemoTarget {
  /** URL of the page that publishes */
  readonly studioUrl: string;
  /** URL of the page that watches */
  readonly watchUrl: string;
  /** Receives a line for each part. */
  readonly progress?: Writable;
  /** Directory for screenshots */
  readonly screenshots: string;
}

/**
 * The part of @sheaf/bench that `sheaf` uses. That package depends on this one and not the reverse, so that a gateway
 * can be installed without experiments and without Playwright.
 */
export interface ExperimentsPackage {
  readonly addCommand: Readonly<Record<ExperimentCommandName, (add: AddCommand) => void>>;
  /** Loads the demo page in Chromium over every transport. */
  runBrowserDemo(target: BrowserDemoTarget): Promise<{ readonly ok: boolean }>;
  /** Publishes in Chromium and watches there, while the tree is cut and mended. */
  runLiveDemo(target: LiveDemoTarget): Promise<{ readonly ok: boolean }>;
}

const packageName = '@sheaf/bench';

/**
 * Loads @sheaf/bench from the first of the world's places that has it. `purpose` is the command as the user typed it.
 * @throws UserError BENCH_UNAVAILABLE, also for a package that exists but does not load
 */
export async function loadExperiments(
  purpose: string,
  { packagePlaces }: Pick<World, 'packagePlaces'>,
): Promise<ExperimentsPackage> {
  try {
    const found = packagePlaces.map(resolveFrom).find((file) => file !== undefined);
    if (found === undefined) throw notInstalled(purpose);
    return (await import(pathToFileURL(found).href)) as ExperimentsPackage;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError('BENCH_UNAVAILABLE', `${packageName} cannot be loaded: ${errorMessage(error)}`, {
      hint: `run: npm install ${packageName}@${version}; in the repository: npm run setup`,
      cause: error,
    });
  }
}

function notInstalled(purpose: string): UserError {
  return new UserError('BENCH_UNAVAILABLE', `\`${purpose}\` needs ${packageName}, which is not installed`, {
    hint: `run: npm install ${packageName}@${version}`,
  });
}

/** Resolves the package as `import` in the file `place` does. Unlike `require`, it ignores NODE_PATH. */
function resolveFrom(place: string): string | undefined {
  let directory = dirname(fileURLToPath(place));
  for (;;) {
    const manifest = join(directory, 'node_modules', packageName, 'package.json');
    // Works because a package may import its own exports.
    if (existsSync(manifest)) return createRequire(manifest).resolve(`${packageName}/commands`);
    if (directory === dirname(directory)) return undefined;
    directory = dirname(directory);
  }
}
