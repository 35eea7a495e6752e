const NAMESPACE = 'http://www.w3.org/2000/svg';
const MARGIN = { top: 10, right: 4, bottom: 24, left: 44 };

/** The frame that values are drawn in. `x` is in seconds before now; `y` grows upwards from 0. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  x(secondsAgo: number): number;
  y(value: number): number;
}

/** An SVG chart of the last minute, as wide as its place on the page */
export class Chart {
  private readonly axes = element('g', { class: 'axes' });
  private readonly content = element('g', {});

  constructor(private readonly svg: SVGSVGElement) {
    svg.append(this.axes, this.content);
  }

  /** Draws the axes for values from 0 to `highest`, and the elements that `marks` returns. */
  draw(highest: number, marks: (frame: Frame) => SVGElement[]): void {
    const { clientWidth: width, clientHeight: height } = this.svg;
    const top = niceCeiling(highest);
    const plot = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    const frame: Frame = {
      ...plot,
      x: (secondsAgo) => MARGIN.left + plot.width * (1 - secondsAgo / 60),
      y: (value) => MARGIN.top + plot.height * (1 - Math.min(value, top) / top),
    };
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.axes.replaceChildren(...valueAxis(frame, top), ...timeAxis(frame));
    this.content.replaceChildren(...marks(frame));
  }

  /** Calls `tell` with the seconds before now under the pointer; undefined when the pointer leaves. */
  onPointer(tell: (secondsAgo: number | undefined) => void): void {
    this.svg.addEventListener('pointermove', ({ clientX }) => {
      const box = this.svg.getBoundingClientRect();
      const part = (clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
      tell(part >= 0 && part <= 1 ? (1 - part) * 60 : undefined);
    });
    this.svg.addEventListener('pointerleave', () => tell(undefined));
  }
}

export function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const created = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}

/** Rounds up to 1, 2, 2.5, 4, 5 or 8 times a power of ten, since halves of these also read well. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  return [1, 2, 2.5, 4, 5, 8, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}

function valueAxis(frame: Frame, top: number): SVGElement[] {
  return [0, 0.5, 1].flatMap((part) => {
    const y = frame.y(part * top);
    const label = text(frame.x(60) - 8, y + 4, 'end', String(Number((part * top).toPrecision(3))));
    return [element('line', { x1: frame.x(60), x2: frame.x(0), y1: y, y2: y }), label];
  });
}

function timeAxis(frame: Frame): SVGElement[] {
  const marks = frame.width < 400 ? [60, 30, 0] : [60, 45, 30, 15, 0];
  return marks.map((seconds) => {
    const anchor = seconds === 60 ? 'start' : seconds === 0 ? 'end' : 'middle';
    return text(frame.x(seconds), frame.y(0) + 18, anchor, seconds === 0 ? 'now' : `−${seconds} s`);
  });
}

function text(x: number, y: number, anchor: string, content: string): SVGElement {
  const label = element('text', { x, y, 'text-anchor': anchor });
  label.textContent = content;
  return label;
}
