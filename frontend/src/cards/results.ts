// The types of what tools answer, generated from their definitions in the server.
import type { Schemas } from '../api/types';
import type { Result } from './call';

export type ToolResult = Schemas['ToolResult'];
export type ResultType = ToolResult['type'];
/**
 * The fields that results of a type have, for a card that names its type: the compiler refuses any other. Their values
 * stay unknown, because a message may be of an older version of the server.
 */
export type FieldsOf<Type extends ResultType> = [Type] extends [never]
  ? Result
  : { [Field in keyof Extract<ToolResult, { type: Type }>]?: unknown } & Pick<Result, 'type' | 'message'>;
