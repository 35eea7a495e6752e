import { box, fullBox, uint16, uint32, uint8, zeros } from './boxes.js';
import type { AudioRendition, Rendition, VideoRendition } from './catalog.js';

/** Returns the box that tells players the codec of a rendition. Undefined: no such box is known here. */
export function sampleEntry(rendition: Rendition): Buffer | undefined {
  if ('sampleRate' in rendition) return audioEntry(rendition);
  const { codec } = rendition;
  const [type = ''] = codec.split('.');
  const configuration = videoConfiguration(rendition);
  return configuration && visualEntry(type, rendition, configuration);
}

function videoConfiguration({ codec, description }: VideoRendition): Buffer | undefined {
  const [type, ...parameters] = codec.split('.');
  switch (type) {
    case 'vp09':
      return vp9Configuration(parameters.map(Number));
    case 'av01':
      return av1Configuration(parameters);
    case 'avc1':
      // Without a description the frames have start codes, which files cannot hold.
      return description === undefined ? undefined : box('avcC', Buffer.from(description, 'hex'));
    default:
      return undefined;
  }
}

/** VP Codec ISO Media File Format Binding 1.0. Parameters that the codec leaves out have the defaults that it names. */
function vp9Configuration(parameters: readonly number[]): Buffer | undefined {
  const [profile, level, depth, chroma = 1, primaries = 1, transfer = 1, matrix = 1, full = 0] = parameters;
  if (profile === undefined || level === undefined || depth === undefined) return undefined;
  const all = [profile, level, depth, chroma, primaries, transfer, matrix, full];
  if (all.some((value) => !Number.isInteger(value) || value < 0 || value > 255)) return undefined;
  const layout = ((depth & 15) << 4) | ((chroma & 7) << 1) | (full & 1);
  return fullBox('vpcC', 1, 0, uint8(profile, level, layout, primaries, transfer, matrix), uint16(0));
}

/** AV1 Codec ISO Media File Format Binding 1.2, for 4:2:0. Key frames carry the sequence header themselves. */
function av1Configuration([profile = '', levelAndTier = '', depth = '']: readonly string[]): Buffer | undefined {
  const [, level, tier] = /^(\d\d)([MH])$/.exec(levelAndTier) ?? [];
  if (!/^[0-2]$/.test(profile) || level === undefined || !/^(08|10|12)$/.test(depth)) return undefined;
  const depths = (depth === '08' ? 0 : 0x40) | (depth === '12' ? 0x20 : 0);
  const subsampled = 0x0c;
  const second = (Number(profile) << 5) | (Number(level) & 31);
  return box('av1C', uint8(0x81, second, (tier === 'H' ? 0x80 : 0) | depths | subsampled, 0));
}

function visualEntry(type: string, { codedWidth = 0, codedHeight = 0 }: VideoRendition, configuration: Buffer): Buffer {
  const resolution = 0x48_0000; // 72 dots per inch, which all files have
  return box(
    type,
    zeros(6),
    uint16(1),
    zeros(16),
    uint16(codedWidth, codedHeight),
    uint32(resolution, resolution),
    zeros(4),
    uint16(1),
    zeros(32),
    uint16(0x18, 0xffff),
    configuration,
  );
}

/** Encapsulation of Opus in ISO Base Media File Format 0.6.8 */
function audioEntry({ codec, sampleRate, numberOfChannels }: AudioRendition): Buffer | undefined {
  if (codec !== 'opus' || numberOfChannels > 2) return undefined;
  const configuration = box('dOps', uint8(0, numberOfChannels), uint16(0), uint32(sampleRate), uint16(0), uint8(0));
  const rate = uint32(48_000 * 0x1_0000);
  return box('Opus', zeros(6), uint16(1), zeros(8), uint16(numberOfChannels, 16), zeros(4), rate, configuration);
}
