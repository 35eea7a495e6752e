import { box, fullBox, uint16, uint32, uint8, zeros } from './boxes.js';
import type { Rendition } from './catalog.js';
import { sampleEntry } from './sample_entry.js';

/** Units of time in a second, in all fragments */
export const TIMESCALE = 1_000_000;

/** Returns the beginning of the file that the parts of a rendition continue. Undefined: players could not read them. */
export function initSegment(rendition: Rendition): Buffer | undefined {
  if (rendition.container.kind === 'cmaf') return Buffer.from(rendition.container.init, 'base64');
  const entry = sampleEntry(rendition);
  if (entry === undefined) return undefined;
  const audio = 'sampleRate' in rendition;
  const fileType = box('ftyp', Buffer.from('iso6'), uint32(1), Buffer.from('iso6cmfc'));
  const extends_ = box('mvex', fullBox('trex', 0, 0, uint32(1, 1, 0, 0, 0)));
  return Buffer.concat([fileType, box('moov', movieHeader(), track(rendition, audio, entry), extends_)]);
}

const unityMatrix = uint32(0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000);

function movieHeader(): Buffer {
  const rateAndVolume = [uint32(0x1_0000), uint16(0x100), zeros(10)];
  return fullBox('mvhd', 0, 0, uint32(0, 0, TIMESCALE, 0), ...rateAndVolume, unityMatrix, zeros(24), uint32(2));
}

function track(rendition: Rendition, audio: boolean, entry: Buffer): Buffer {
  const [width, height] = 'sampleRate' in rendition ? [0, 0] : [rendition.codedWidth ?? 0, rendition.codedHeight ?? 0];
  const header = fullBox(
    'tkhd',
    0,
    3, // the track is enabled and in the movie
    uint32(0, 0, 1, 0, 0),
    zeros(8),
    uint16(0, 0, audio ? 0x100 : 0, 0),
    unityMatrix,
    uint32(width * 0x1_0000, height * 0x1_0000),
  );
  return box('trak', header, media(audio, entry));
}

function media(audio: boolean, entry: Buffer): Buffer {
  const undetermined = 0x55c4; // the language `und`
  const header = fullBox('mdhd', 0, 0, uint32(0, 0, TIMESCALE, 0), uint16(undetermined, 0));
  const handler = fullBox('hdlr', 0, 0, zeros(4), Buffer.from(audio ? 'soun' : 'vide'), zeros(12), uint8(0));
  const description = audio ? fullBox('smhd', 0, 0, zeros(4)) : fullBox('vmhd', 0, 1, zeros(8));
  const data = box('dinf', fullBox('dref', 0, 0, uint32(1), fullBox('url ', 0, 1)));
  const samples = box(
    'stbl',
    fullBox('stsd', 0, 0, uint32(1), entry),
    fullBox('stts', 0, 0, uint32(0)),
    fullBox('stsc', 0, 0, uint32(0)),
    fullBox('stsz', 0, 0, uint32(0, 0)),
    fullBox('stco', 0, 0, uint32(0)),
  );
  return box('mdia', header, handler, box('minf', description, data, samples));
}
