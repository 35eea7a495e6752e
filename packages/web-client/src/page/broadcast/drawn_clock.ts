/** Size of the picture */
export const WIDTH = 640;
export const HEIGHT = 360;

const COLOR = {
  field: '#16261f',
  ring: '#2c4036',
  text: '#f7f4e4',
  straw: '#f2c14e',
  tie: '#e0613f',
  quiet: '#a3b5a9',
};
const DIAL = { x: 150, y: 180, radius: 112 };
const TURN = 2 * Math.PI;

type Context = OffscreenCanvasRenderingContext2D;

/** Draws the time of day, in milliseconds, and the number of the frame. */
export function drawClock(context: Context, time: number, frame: number): void {
  context.fillStyle = COLOR.field;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const date = new Date(time);
  drawDial(context, date);
  drawDigits(context, date, frame);
}

function drawDial(context: Context, date: Date): void {
  const { x, y, radius } = DIAL;
  const seconds = date.getSeconds() + date.getMilliseconds() / 1_000;
  context.lineCap = 'butt';
  for (let mark = 0; mark < 60; mark += 1) {
    const isLong = mark % 5 === 0;
    context.strokeStyle = mark <= seconds ? COLOR.straw : COLOR.ring;
    context.lineWidth = isLong ? 6 : 3;
    ray(context, (mark / 60) * TURN, radius - (isLong ? 20 : 12), radius);
  }
  const minutes = date.getMinutes() + seconds / 60;
  context.lineCap = 'round';
  context.strokeStyle = COLOR.text;
  context.lineWidth = 8;
  ray(context, (((date.getHours() % 12) + minutes / 60) / 12) * TURN, 0, radius * 0.5);
  context.lineWidth = 5;
  ray(context, (minutes / 60) * TURN, 0, radius * 0.74);
  context.strokeStyle = COLOR.tie;
  context.lineWidth = 3;
  ray(context, (seconds / 60) * TURN, -16, radius * 0.84);
  context.fillStyle = COLOR.tie;
  context.beginPath();
  context.arc(x, y, 7, 0, TURN);
  context.fill();
}

/** Draws a line from the middle of the dial outwards. */
function ray(context: Context, angle: number, from: number, to: number): void {
  const [dx, dy] = [Math.sin(angle), -Math.cos(angle)];
  context.beginPath();
  context.moveTo(DIAL.x + dx * from, DIAL.y + dy * from);
  context.lineTo(DIAL.x + dx * to, DIAL.y + dy * to);
  context.stroke();
}

function drawDigits(context: Context, date: Date, frame: number): void {
  const two = (value: number): string => String(value).padStart(2, '0');
  context.textBaseline = 'alphabetic';
  context.fillStyle = COLOR.text;
  context.font = "600 58px 'Martian Mono', monospace";
  context.fillText(`${two(date.getHours())}:${two(date.getMinutes())}`, 306, 168);
  context.fillStyle = COLOR.straw;
  context.font = "500 58px 'Martian Mono', monospace";
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0');
  context.fillText(`${two(date.getSeconds())}.${milliseconds}`, 306, 240);
  context.fillStyle = COLOR.quiet;
  context.font = "400 20px 'Martian Mono', monospace";
  context.fillText(`frame ${frame}`, 310, 282);
}
