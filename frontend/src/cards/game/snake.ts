// The rules of the game: a snake on a small board that grows by eating. Pure, so that it can be tested.

export const SIZE = 16;
export type Cell = { x: number; y: number };
export type Heading = 'up' | 'down' | 'left' | 'right';
export type Game = { snake: Cell[]; heading: Heading; food: Cell; score: number; over: boolean };

const STEPS: Record<Heading, Cell> = {
  up: { x: 0, y: -1 },
  down: { x: 0, y: 1 },
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
};

export function begin(random: () => number = Math.random): Game {
  const snake = [
    { x: 5, y: 8 },
    { x: 4, y: 8 },
    { x: 3, y: 8 },
  ];
  return { snake, heading: 'right', food: freeCell(snake, random), score: 0, over: false };
}

/** Ignores a turn to the opposite direction. */
export function turn(game: Game, heading: Heading): Game {
  const [now, next] = [STEPS[game.heading], STEPS[heading]];
  return now.x + next.x === 0 && now.y + next.y === 0 ? game : { ...game, heading };
}

export function step(game: Game, random: () => number = Math.random): Game {
  if (game.over) return game;
  const by = STEPS[game.heading];
  const head = { x: game.snake[0]!.x + by.x, y: game.snake[0]!.y + by.y };
  const eats = head.x === game.food.x && head.y === game.food.y;
  const body = eats ? game.snake : game.snake.slice(0, -1);
  const outside = head.x < 0 || head.y < 0 || head.x >= SIZE || head.y >= SIZE;
  if (outside || body.some((cell) => cell.x === head.x && cell.y === head.y)) return { ...game, over: true };
  const snake = [head, ...body];
  return eats ? { ...game, snake, score: game.score + 1, food: freeCell(snake, random) } : { ...game, snake };
}

function freeCell(snake: Cell[], random: () => number): Cell {
  const taken = new Set(snake.map((cell) => cell.y * SIZE + cell.x));
  const free = Array.from({ length: SIZE * SIZE }, (_, place) => place).filter((place) => !taken.has(place));
  const place = free[Math.floor(random() * free.length)] ?? 0;
  return { x: place % SIZE, y: Math.floor(place / SIZE) };
}
