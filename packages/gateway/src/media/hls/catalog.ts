import { z } from 'zod';
import type { Broadcast } from '../model/broadcast.js';
import type { Group } from '../model/group.js';

/** Track with the list of all others, as publishers of `@moq/hang` write it */
export const catalogTrack = 'catalog.json';

const maxRenditions = 16;
const maxSide = 16_384;

const container = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('legacy') }),
    z.object({ kind: z.literal('cmaf'), init: z.base64() }),
  ])
  .default({ kind: 'legacy' });

const common = {
  codec: z.string().regex(/^[a-zA-Z0-9.]{1,60}$/),
  container,
  description: z
    .string()
    .regex(/^([0-9a-fA-F]{2})*$/)
    .optional(),
  bitrate: z.number().positive().optional(),
};

const videoRendition = z.object({
  ...common,
  codedWidth: z.int().positive().max(maxSide).optional(),
  codedHeight: z.int().positive().max(maxSide).optional(),
  framerate: z.number().positive().max(1_000).optional(),
});

const audioRendition = z.object({
  ...common,
  sampleRate: z.int().positive().max(768_000),
  numberOfChannels: z.int().positive().max(8),
});

/** Renditions that are not understood are left out, since they may be made for other players. */
function renditions<Rendition extends z.ZodType>(rendition: Rendition) {
  return z
    .object({ renditions: z.record(z.string(), z.unknown()) })
    .optional()
    .transform((list) => {
      const entries = Object.entries(list?.renditions ?? {}).slice(0, maxRenditions);
      return new Map(
        entries.flatMap(([name, value]): [string, z.output<Rendition>][] => {
          const parsed = rendition.safeParse(value);
          return parsed.success ? [[name, parsed.data]] : [];
        }),
      );
    });
}

const catalogSchema = z.object({
  video: renditions(videoRendition),
  audio: renditions(audioRendition),
  /** Tracks whose publisher signs them, each in a track beside it */
  signed: z.array(z.string()).catch([]),
});

/** The tracks of a broadcast that players may choose from, by name */
export type Catalog = z.output<typeof catalogSchema>;
export type VideoRendition = z.output<typeof videoRendition>;
export type AudioRendition = z.output<typeof audioRendition>;
export type Rendition = VideoRendition | AudioRendition;

const parsed = new WeakMap<Group, Catalog>();

/** Returns the newest catalogue of a broadcast, and waits for the first one. Undefined: it is malformed. @throws MediaError when there is none */
export async function catalogOf(broadcast: Broadcast, signal: AbortSignal): Promise<Catalog | undefined> {
  const track = broadcast.track(catalogTrack);
  await track.ready(signal);
  while (track.newest === undefined && track.open && !signal.aborted) await track.changed(signal);
  const group = track.newest;
  const frame = await group?.frame(0, signal);
  if (group === undefined || frame === undefined) return undefined;
  const known = parsed.get(group);
  if (known) return known;
  const catalog = parseCatalog(frame.payload);
  if (catalog) parsed.set(group, catalog);
  return catalog;
}

export function parseCatalog(bytes: Buffer): Catalog | undefined {
  try {
    return catalogSchema.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}
