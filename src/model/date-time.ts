const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:[Zz]|[+-](\d\d):(\d\d))$/;
const days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Whether a text is a point in time by RFC 3339: a real date, and with its offset, so that it means the same everywhere.
 * Leap seconds are refused: `Date` cannot read them.
 */
export function isDateTime(text: string): boolean {
  const match = shape.exec(text);
  if (match === null) return false;
  const part = (index: number) => Number(match[index] ?? 0);
  const month = part(2);
  const leap = part(1) % 4 === 0 && (part(1) % 100 !== 0 || part(1) % 400 === 0);
  const last = month === 2 && leap ? 29 : (days[month - 1] ?? 0);
  return (
    part(3) >= 1 && part(3) <= last && part(4) < 24 && part(5) < 60 && part(6) < 60 && part(7) < 24 && part(8) < 60
  );
}
