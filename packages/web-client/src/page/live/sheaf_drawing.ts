type SparkKind = 'sent' | 'returned' | 'datagram';

interface Spark {
  readonly slot: number;
  readonly kind: SparkKind;
  readonly bornAt: number;
}

interface Colours {
  readonly stalk: string;
  readonly open: string;
  readonly tie: string;
  readonly sparks: Record<SparkKind, string>;
}

// Slow enough for the eye; the real journey takes a few milliseconds.
const JOURNEY_MS = 900;
const MAX_SPARKS = 220;
const FADE_MS = 700;
// Bytes per spark, since chunks come in all sizes
const SPARK_BYTES = 16_384;

/** Draws streams as stalks between the browser on the left and the gateway on the right. */
export class SheafDrawing {
  private readonly context: CanvasRenderingContext2D;
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)');
  private readonly lastOpen = new Map<number, number>();
  private readonly openSlots = new Set<number>();
  private readonly sparkless = new Map<string, number>();
  private sparks: Spark[] = [];
  private stalks = 8;
  private colours: Colours;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d')!;
    this.colours = coloursOf(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colours = coloursOf(canvas);
    });
    const draw = (): void => {
      this.draw(performance.now());
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  }

  setStalks(count: number): void {
    this.stalks = count;
  }

  opened(slot: number): void {
    this.openSlots.add(slot);
  }

  ended(slot: number): void {
    this.openSlots.delete(slot);
    this.lastOpen.set(slot, performance.now());
  }

  /** Counts bytes that went in one direction on a stream. */
  moved(slot: number, kind: 'sent' | 'returned', bytes: number): void {
    const key = `${kind} ${slot}`;
    const total = (this.sparkless.get(key) ?? 0) + bytes;
    this.sparkless.set(key, total % SPARK_BYTES);
    if (total >= SPARK_BYTES) this.spark(slot, kind);
  }

  datagram(): void {
    this.spark(Math.floor(Math.random() * this.stalks), 'datagram');
  }

  private spark(slot: number, kind: SparkKind): void {
    if (this.still.matches || this.sparks.length >= MAX_SPARKS) return;
    this.sparks.push({ slot, kind, bornAt: performance.now() });
  }

  private draw(now: number): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.context.lineCap = 'round';
    for (let slot = 0; slot < this.stalks; slot += 1) this.drawStalk(slot, width, height, now);
    this.drawTie(width, height);
    this.sparks = this.sparks.filter(({ bornAt }) => now - bornAt < JOURNEY_MS);
    for (const spark of this.sparks) this.drawSpark(spark, width, height, now);
  }

  private drawStalk(slot: number, width: number, height: number, now: number): void {
    const age = this.openSlots.has(slot) ? 0 : now - (this.lastOpen.get(slot) ?? -Infinity);
    const glow = Math.max(0, 1 - age / FADE_MS);
    for (const [colour, alpha] of [
      [this.colours.stalk, 1],
      [this.colours.open, glow],
    ] as const) {
      if (alpha === 0) continue;
      this.context.globalAlpha = alpha;
      this.context.strokeStyle = colour;
      this.context.fillStyle = colour;
      this.context.lineWidth = 2;
      this.context.beginPath();
      for (let step = 0; step <= 48; step += 1) {
        this.context.lineTo(...this.point(slot, step / 48, width, height));
      }
      this.context.stroke();
      this.drawEar(slot, width, height);
    }
    this.context.globalAlpha = 1;
  }

  /** Draws grains along the last part of a stalk. */
  private drawEar(slot: number, width: number, height: number): void {
    const size = Math.min(1, Math.max(0.55, width / 900));
    for (let pair = 0; pair < 6; pair += 1) {
      const [x, y] = this.point(slot, 1 - (pair * 9 * size) / width, width, height);
      const [beforeX, beforeY] = this.point(slot, 1 - ((pair + 1) * 9 * size) / width, width, height);
      const angle = Math.atan2(y - beforeY, x - beforeX);
      for (const side of [-1, 1]) {
        this.context.beginPath();
        this.context.ellipse(
          x - Math.sin(angle) * side * 3.4 * size,
          y + Math.cos(angle) * side * 3.4 * size,
          6 * size,
          2.2 * size,
          angle + side * 0.5,
          0,
          Math.PI * 2,
        );
        this.context.fill();
      }
    }
  }

  private drawTie(width: number, height: number): void {
    const half = this.waist(height) / 2 + 5;
    this.context.strokeStyle = this.colours.tie;
    this.context.lineWidth = 4;
    for (let turn = -2; turn <= 2; turn += 1) {
      const x = width / 2 + turn * 5;
      this.context.beginPath();
      this.context.moveTo(x - 2, height / 2 - half);
      this.context.quadraticCurveTo(x + 5, height / 2, x + 1, height / 2 + half);
      this.context.stroke();
    }
  }

  private drawSpark({ slot, kind, bornAt }: Spark, width: number, height: number, now: number): void {
    const progress = (now - bornAt) / JOURNEY_MS;
    // Datagrams go there and back, stream data in one direction.
    const place = kind === 'datagram' ? 1 - Math.abs(1 - progress * 2) : kind === 'sent' ? progress : 1 - progress;
    const [x, y] = this.point(slot, place, width, height);
    this.context.fillStyle = this.colours.sparks[kind];
    this.context.beginPath();
    this.context.arc(x, y, kind === 'datagram' ? 2.6 : 4, 0, Math.PI * 2);
    this.context.fill();
  }

  private waist(height: number): number {
    return Math.min(height * 0.2, 6 + this.stalks * 3);
  }

  /** Returns a point of a stalk: at 0 the browser, at 1 the gateway, on a hyperbola as in a real sheaf. */
  private point(slot: number, place: number, width: number, height: number): [number, number] {
    const lane = this.stalks === 1 ? 0 : slot / (this.stalks - 1) - 0.5;
    const away = Math.abs(place - 0.5) * 2;
    const waist = this.waist(height);
    const open = Math.hypot(waist, away * (height * 0.86 - waist));
    // Varies the length of the stalks.
    const length = 0.94 - ((slot * 7) % 5) * 0.012;
    return [width * (0.5 + (place - 0.5) * length), height / 2 + lane * open];
  }
}

function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    stalk: colour('--stalk'),
    open: colour('--stalk-open'),
    tie: colour('--tie'),
    sparks: {
      sent: colour('--sent'),
      returned: colour('--returned'),
      datagram: colour('--datagram'),
    },
  };
}
