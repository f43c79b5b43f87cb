// What fingers, mouse and wheel mean on a timeline: drag moves, wheel and pinch zoom. Told in pixels.

export interface Meaning {
  drag(dx: number, dy: number): void;
  zoom(factor: number, x: number): void;
  hover(x: number, y: number, event: PointerEvent): void;
  leave(): void;
  click(x: number, y: number): void;
}

const STILL = 4;

export function gestures(element: HTMLElement, meaning: Meaning): () => void {
  const fingers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let spread = 0;

  const place = (event: PointerEvent | WheelEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, place(event));
    moved = 0;
    spread = 0;
  };

  const move = (event: PointerEvent) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) return meaning.hover(now.x, now.y, event);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    fingers.set(event.pointerId, now);
    if (moved < STILL) return;
    element.setPointerCapture(event.pointerId);
    if (fingers.size === 2) return pinch();
    meaning.leave();
    meaning.drag(now.x - before.x, now.y - before.y);
  };

  const pinch = () => {
    const [a, b] = [...fingers.values()];
    if (!a || !b) return;
    const apart = Math.max(Math.abs(a.x - b.x), 20);
    if (spread) meaning.zoom(spread / apart, (a.x + b.x) / 2);
    spread = apart;
  };

  const up = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId) && moved < STILL && event.type === "pointerup") {
      const { x, y } = place(event);
      meaning.click(x, y);
    }
    spread = 0;
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) return meaning.drag(0, -(event.deltaY || event.deltaX) * unit);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return meaning.drag(-event.deltaX * unit, 0);
    meaning.zoom(Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0016)), place(event).x);
  };

  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", meaning.leave);
  element.addEventListener("wheel", wheel, { passive: false });
  return () => {
    element.removeEventListener("pointerdown", down);
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", up);
    element.removeEventListener("pointerleave", meaning.leave);
    element.removeEventListener("wheel", wheel);
  };
}
