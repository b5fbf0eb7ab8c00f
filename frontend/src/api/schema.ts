// Generated from the OpenAPI schema by `npm run api-types`; do not edit.
// schema: f2b95ff4593ecdaca8f20ffd9aa61bbe8a6949c9ae9339f6814acde1bdc491e2
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccountLimits: {
            /** Format: double */
            day_budget: number | null;
            in_flight_turns: number;
            /** Format: double */
            month_budget: number | null;
            running_turns: number;
        };
        AgentDetail: {
            /** Format: date-time */
            readonly created_at: string;
            readonly description: string;
            graph: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            readonly id: string;
            imported_id: string;
            readonly input_schema: {
                [key: string]: unknown;
            };
            readonly name: string;
            readonly output_schema: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            part_of: string | null;
            readonly source: components["schemas"]["AgentSourceEnum"];
            readonly store: string | null;
            sub_agents: components["schemas"]["SubAgentShape"][];
            /** Format: date-time */
            readonly updated_at: string;
            readonly valid: boolean;
            validation: components["schemas"]["ValidationShape"];
            version: number;
        };
        AgentShape: {
            /** Format: date-time */
            readonly created_at: string;
            readonly description: string;
            /** Format: uuid */
            readonly id: string;
            readonly input_schema: {
                [key: string]: unknown;
            };
            readonly name: string;
            readonly output_schema: {
                [key: string]: unknown;
            };
            readonly source: components["schemas"]["AgentSourceEnum"];
            readonly store: string | null;
            /** Format: date-time */
            readonly updated_at: string;
            readonly valid: boolean;
            version: number;
        };
        /** @enum {string} */
        AgentSourceEnum: "created" | "imported" | "generated" | "store";
        AgentUses: {
            listings: string[];
            schedules: number;
            triggers: number;
        };
        Allowance: {
            /** Format: double */
            limit: number | null;
            /** Format: date-time */
            resets_at: string;
            /** Format: double */
            spent: number;
        };
        Answer: {
            /** @default  */
            error: string | null;
            result?: unknown;
            success: boolean;
        };
        ApproveForm: {
            digest: string;
        };
        AskForm: {
            attachments?: string[];
            client_id?: string | null;
            context?: unknown;
            id?: string;
            message?: unknown;
            messageId?: string | null;
            messages?: {
                [key: string]: unknown;
            }[] | null;
            model?: string | null;
            /** @default submit-message */
            trigger: components["schemas"]["TriggerEnum"];
            while_running?: components["schemas"]["WhileRunningEnum"];
        };
        AttentionShape: {
            questions: number;
            reviews: number;
            unread: number;
        };
        /** @enum {string} */
        AuthEnum: "none" | "key" | "sign_in";
        /** @enum {unknown} */
        BlankEnum: "";
        BlockList: {
            next: string | null;
            results: components["schemas"]["BlockShape"][];
        };
        BlockOrder: {
            client_id?: string | null;
            inputs?: {
                [key: string]: unknown;
            };
        };
        BlockResult: {
            client_id: string;
            /** Format: decimal */
            cost: string;
            error: string | null;
            outputs: {
                [key: string]: unknown[];
            };
            /** Format: uuid */
            review_id: string | null;
            status: components["schemas"]["BlockResultStatusEnum"];
        };
        /** @enum {string} */
        BlockResultStatusEnum: "completed" | "failed" | "review" | "running";
        BlockShape: {
            advanced: string[];
            category: string;
            costs: boolean;
            credentials: string | null;
            description: string;
            hidden: string[];
            /** Format: uuid */
            id: string;
            input_schema: {
                [key: string]: unknown;
            };
            name: string;
            output_schema: {
                [key: string]: unknown;
            };
            runs_alone: boolean;
            schema_pin: string | null;
            sensitive: boolean;
            static_output: boolean;
            type: string;
            wraps: string[];
        };
        BudgetState: {
            day: components["schemas"]["Allowance"];
            month: components["schemas"]["Allowance"];
        };
        CallAnswer: {
            /** Format: uuid */
            delivery_id: string;
            /** Format: uuid */
            execution_id: string | null;
            state: string;
        };
        Cancelled: {
            cancelled: boolean;
            reason?: string;
        };
        Caps: {
            attachments: number;
            file_bytes: number;
            frame_bytes: number;
            in_flight_turns: number;
            message_characters: number;
            page_size: number;
            running_turns: number;
            title_characters: number;
            tool_wait_seconds: number;
        };
        ChangeShape: {
            after: unknown;
            before: unknown;
            field: string;
        };
        ChangedShape: {
            changes: components["schemas"]["ChangeShape"][];
            id: string;
        };
        Config: {
            allow_anonymous: boolean;
            allow_signup: boolean;
            /** Format: double */
            keep_alive_seconds: number;
            limits: components["schemas"]["Caps"];
            model: string;
            sees_images: boolean;
            stream_ttl_seconds: number;
        };
        Credential: {
            readonly ca_certificate: string;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: date-time */
            readonly expires_at: string | null;
            readonly host: string;
            /** Format: uuid */
            readonly id: string;
            readonly kind: components["schemas"]["CredentialKindEnum"];
            readonly port: number | null;
            readonly provider: string;
            readonly scopes: unknown;
            readonly status: string;
            readonly title: string;
            /** Format: date-time */
            readonly used_at: string | null;
        };
        /** @enum {string} */
        CredentialKindEnum: "api_key" | "user_password" | "host_scoped" | "oauth2";
        Day: {
            /** Format: double */
            cost: number;
            /** Format: double */
            credits: number;
            /** Format: date */
            date: string;
            input_tokens: number;
            output_tokens: number;
        };
        Decision: {
            approved: boolean;
            data?: unknown;
            /** @default  */
            message: string;
            /** @default  */
            remember: components["schemas"]["RememberEnum"] | components["schemas"]["BlankEnum"];
        };
        Delivery: {
            readonly delivery_key: string;
            readonly error: string;
            /** Format: uuid */
            execution_id: string | null;
            readonly headers: unknown;
            /** Format: uuid */
            readonly id: string;
            payload: unknown;
            /** Format: date-time */
            readonly received_at: string;
            /** Format: uuid */
            replay_of: string | null;
            readonly state: components["schemas"]["DeliveryStateEnum"];
            readonly tries: number;
        };
        /** @enum {string} */
        DeliveryStateEnum: "stored" | "started" | "refused" | "failed";
        DifferenceShape: {
            from_version: number;
            graph: components["schemas"]["ChangeShape"][];
            links: components["schemas"]["PartsShape"];
            nodes: components["schemas"]["PartsShape"];
            to_version: number;
        };
        DraftFixShape: {
            fixes: components["schemas"]["ProblemShape"][];
            graph: {
                [key: string]: unknown;
            };
            validation: components["schemas"]["ValidationShape"];
        };
        DraftOrder: {
            base_version?: number | null;
            /** @default  */
            client_id: string;
            graph: {
                [key: string]: unknown;
            };
            revision: number;
            save_id: string;
        };
        DraftRunOrder: {
            client_id: string;
            inputs?: {
                [key: string]: unknown;
            };
            revision: number;
        };
        DraftShape: {
            /** Format: uuid */
            agent_id: string;
            base_version: number;
            changed: boolean;
            description: string;
            graph: {
                [key: string]: unknown;
            };
            input_schema: {
                [key: string]: unknown;
            };
            latest_version: number;
            name: string;
            pinned: {
                [key: string]: unknown;
            };
            proposal: components["schemas"]["ProposalShape"] | null;
            removed: components["schemas"]["ProblemShape"][];
            revision: number;
            /** Format: uuid */
            session_id: string | null;
            validation: components["schemas"]["ValidationShape"];
        };
        EditorOrder: {
            client_id: string;
            /** @default false */
            closed: boolean;
            /** @default  */
            device: string;
        };
        EditorShape: {
            client_id: string;
            device: string;
            /** Format: date-time */
            seen_at: string;
        };
        EditorsShape: {
            editors: components["schemas"]["EditorShape"][];
        };
        /** @enum {string} */
        EffectEnum: "pure" | "idempotent" | "foreign";
        Error: {
            error: {
                code: string;
                fields?: {
                    [key: string]: string[];
                };
                hint?: string;
                message: string;
            };
        };
        /** @enum {string} */
        EventTypeEnum: "turn.finished" | "operation.finished" | "execution.finished" | "webhook.test";
        /** @enum {string} */
        EventsEnum: "turn.finished" | "operation.finished" | "execution.finished";
        ExecutionCancelled: {
            cancelled: boolean;
            reason?: string;
        };
        ExecutionDetail: {
            /** Format: uuid */
            readonly agent_id: string;
            readonly agent_name: string;
            readonly agent_removed: boolean;
            readonly attempt: number;
            readonly client_id: string | null;
            /** Format: decimal */
            readonly cost: string;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            graph?: {
                [key: string]: unknown;
            } | null;
            /** Format: uuid */
            readonly id: string;
            readonly inputs: {
                [key: string]: unknown;
            };
            node_count?: number;
            nodes?: components["schemas"]["NodeExecutionShape"][];
            readonly outputs: {
                [key: string]: unknown[];
            };
            /** Format: uuid */
            readonly parent_id: string | null;
            /** Format: date-time */
            readonly queued_at: string;
            readonly rejected: boolean;
            /** Format: uuid */
            readonly retry_of_id: string | null;
            /** Format: uuid */
            readonly session_id: string | null;
            readonly source: components["schemas"]["ExecutionSourceEnum"];
            /** Format: date-time */
            readonly started_at: string | null;
            readonly status: components["schemas"]["ExecutionStatusEnum"];
            readonly version: number;
        };
        ExecutionOrder: {
            client_id?: string | null;
            inputs?: {
                [key: string]: unknown;
            };
            version?: number | null;
        };
        ExecutionShape: {
            /** Format: uuid */
            readonly agent_id: string;
            readonly agent_name: string;
            readonly agent_removed: boolean;
            readonly attempt: number;
            readonly client_id: string | null;
            /** Format: decimal */
            readonly cost: string;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly inputs: {
                [key: string]: unknown;
            };
            readonly outputs: {
                [key: string]: unknown[];
            };
            /** Format: uuid */
            readonly parent_id: string | null;
            /** Format: date-time */
            readonly queued_at: string;
            readonly rejected: boolean;
            /** Format: uuid */
            readonly retry_of_id: string | null;
            /** Format: uuid */
            readonly session_id: string | null;
            readonly source: components["schemas"]["ExecutionSourceEnum"];
            /** Format: date-time */
            readonly started_at: string | null;
            readonly status: components["schemas"]["ExecutionStatusEnum"];
            readonly version: number;
        };
        /** @enum {string} */
        ExecutionSourceEnum: "api" | "chat" | "schedule" | "trigger" | "agent" | "draft";
        /** @enum {string} */
        ExecutionStatusEnum: "INCOMPLETE" | "QUEUED" | "RUNNING" | "REVIEW" | "COMPLETED" | "FAILED" | "TERMINATED";
        File: {
            readonly content_url: string;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: uuid */
            readonly id: string;
            readonly media_type: string;
            readonly name: string;
            readonly path: string;
            readonly reference: string;
            /** Format: uuid */
            readonly session_id: string | null;
            readonly sha256: string;
            readonly size: number;
            /** Format: date-time */
            readonly updated_at: string;
        };
        FixOrder: {
            /** @default true */
            save: boolean;
        };
        FixedShape: {
            changed: boolean;
            fixes: components["schemas"]["ProblemShape"][];
            graph: {
                [key: string]: unknown;
            };
            validation: components["schemas"]["ValidationShape"];
            version: number;
        };
        FollowUpShape: {
            /** Format: date-time */
            readonly created_at: string;
            readonly cron: string;
            /** Format: uuid */
            readonly id: string;
            readonly last_error: string;
            /** Format: date-time */
            readonly last_run_at: string | null;
            /** Format: uuid */
            readonly last_session_id: string | null;
            new_session: boolean;
            /** Format: date-time */
            readonly next_run_at: string | null;
            readonly prompt: string;
            /** Format: uuid */
            readonly session_id: string;
            readonly timezone: string;
        };
        ForeignBlockShape: {
            category: string;
            id: string;
            name: string;
            provider: string;
        };
        ForkShape: {
            /** Format: date-time */
            readonly active_at: string;
            /** Format: date-time */
            readonly created_at: string;
            draft: components["schemas"]["InputShape"] | null;
            /** Format: uuid */
            forked_from: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly model: string;
            readonly needs_you: boolean;
            /** Format: uuid */
            parent: string | null;
            readonly permissions: unknown;
            readonly pinned: boolean;
            readonly status: components["schemas"]["SessionStatusEnum"];
            readonly title: string;
            readonly unread: boolean;
        };
        Grant: {
            client_id: string;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: uuid */
            readonly id: string;
            /** Format: date-time */
            last_used_at: string | null;
            name: string;
        };
        GraphOrder: {
            graph: {
                [key: string]: unknown;
            };
        };
        InputShape: {
            attachments: string[];
            content: string;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: uuid */
            readonly id: string;
        };
        /** @enum {string} */
        JobStatusEnum: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
        Key: {
            allowed_models?: string[] | null;
            allowed_tools?: string[] | null;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: decimal */
            day_limit?: string | null;
            /** Format: uuid */
            readonly id: string;
            /** Format: date-time */
            readonly last_used_at: string | null;
            /** Format: decimal */
            month_limit?: string | null;
            name: string;
            readonly prefix: string;
            /** Format: int64 */
            requests_per_minute?: number | null;
        };
        ListingDetail: {
            readonly additions: number;
            categories: string[];
            readonly description: string;
            graph: {
                [key: string]: unknown;
            };
            input_schema: {
                [key: string]: unknown;
            };
            readonly name: string;
            output_schema: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            readonly published_at: string;
            readonly slug: string;
            username: string;
            version: number;
        };
        ListingShape: {
            readonly additions: number;
            categories: string[];
            readonly description: string;
            input_schema: {
                [key: string]: unknown;
            };
            readonly name: string;
            output_schema: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            readonly published_at: string;
            readonly slug: string;
            username: string;
            version: number;
        };
        Me: {
            readonly admin_url: string;
            /** Format: date-time */
            readonly date_joined: string;
            email?: string;
            instructions?: string;
            readonly is_staff: boolean;
            readonly limits: components["schemas"]["AccountLimits"];
            model?: string;
            theme?: components["schemas"]["ThemeEnum"];
            time_zone?: string;
            readonly username: string;
        };
        MemoryShape: {
            facts: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
            topics: string[];
        };
        MessageHitShape: {
            /** Format: date-time */
            at: string;
            /** Format: uuid */
            message_id: string | null;
            role: string;
            /** Format: uuid */
            session_id: string;
            snippet: string;
            title: string;
        };
        MessageShape: {
            content: string;
            /** Format: uuid */
            id: string;
            metadata: {
                [key: string]: unknown;
            };
            parts: {
                [key: string]: unknown;
            }[];
            role: components["schemas"]["RoleEnum"];
            versions?: components["schemas"]["MessageVersion"][];
        };
        MessageVersion: {
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            message_id: string;
            model: string;
            shown: boolean;
            /** Format: uuid */
            turn_id: string;
        };
        MissingBlockShape: {
            id: string;
            name: string;
            nearest?: string;
            node_ids: string[];
            provider?: string;
            replaceable: boolean;
        };
        Models: {
            default: string;
            models: components["schemas"]["OfferedModel"][];
        };
        NewFork: {
            /** Format: uuid */
            id?: string;
            /** Format: uuid */
            message_id: string;
        };
        NewForm: {
            api_key?: string;
            ca_certificate?: string;
            /** Format: date-time */
            expires_at?: string;
            headers?: {
                [key: string]: string;
            };
            host?: string;
            kind: components["schemas"]["NewFormKindEnum"];
            password?: string;
            port?: number | null;
            provider: string;
            title?: string;
            username?: string;
        };
        /** @enum {string} */
        NewFormKindEnum: "api_key" | "user_password" | "host_scoped";
        NewKey: {
            allowed_models?: string[] | null;
            allowed_tools?: string[] | null;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: decimal */
            day_limit?: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly key: string;
            /** Format: date-time */
            readonly last_used_at: string | null;
            /** Format: decimal */
            month_limit?: string | null;
            name: string;
            readonly prefix: string;
            /** Format: int64 */
            requests_per_minute?: number | null;
        };
        NewPushSubscription: {
            endpoint: string;
            keys: components["schemas"]["PushKeys"];
            /** @default en */
            language: string;
            /** @default  */
            name: string;
        };
        NewSession: {
            model?: string | null;
            permissions?: unknown;
            title?: string;
        };
        NewTurn: {
            attachments?: string[];
            client_id?: string | null;
            context?: components["schemas"]["PageContext"] | null;
            /** @default  */
            message: string;
            model?: string | null;
            /** @default queue */
            while_running: components["schemas"]["WhileRunningEnum"];
        };
        NewWebhookEndpoint: {
            /** Format: date-time */
            readonly created_at: string;
            description?: string;
            readonly disabled_reason: string;
            enabled?: boolean;
            /**
             * @default [
             *       "turn.finished",
             *       "operation.finished",
             *       "execution.finished"
             *     ]
             */
            events: components["schemas"]["EventsEnum"][];
            /** Format: date-time */
            readonly failing_since: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly secret: string;
            url: string;
        };
        NodeExecutionShape: {
            readonly attempt: number;
            readonly block_id: string;
            /** Format: uuid */
            readonly caller_id: string | null;
            /** Format: decimal */
            readonly cost: string;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly inputs: {
                [key: string]: unknown;
            };
            readonly node_id: string;
            readonly outputs: unknown[][];
            /** Format: double */
            readonly progress: number;
            readonly run: number | null;
            /** Format: date-time */
            readonly started_at: string | null;
            readonly status: components["schemas"]["ExecutionStatusEnum"];
            readonly waits_for: string;
            /** Format: date-time */
            readonly wake_at: string | null;
        };
        NodeRunOrder: {
            client_id: string;
            inputs?: {
                [key: string]: unknown;
            };
        };
        NoticeClaim: {
            show: boolean;
        };
        NoticeEvent: {
            event: string;
        };
        NotificationSettingsShape: {
            all_devices?: boolean;
            answers?: boolean;
            questions?: boolean;
            /** Format: time */
            quiet_from?: string | null;
            /** Format: time */
            quiet_until?: string | null;
            reviews?: boolean;
            runs?: boolean;
        };
        OfferedModel: {
            context_tokens: number;
            endpoint: string;
            label: string;
            name: string;
            sees_images: boolean;
        };
        OperationShape: {
            accepted: boolean;
            readonly answer: {
                [key: string]: unknown;
            };
            readonly attempt: number;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly message: string;
            /** Format: double */
            readonly progress: number;
            /** Format: date-time */
            readonly queued_at: string;
            result: unknown;
            /** Format: uuid */
            readonly session_id: string;
            /** Format: date-time */
            readonly started_at: string | null;
            status: components["schemas"]["JobStatusEnum"];
            /** Format: uuid */
            readonly task_id: string;
            readonly tool_name: string;
            /** Format: uuid */
            readonly turn_id: string;
        };
        PageContext: {
            content?: string;
            url?: string;
        };
        PaginatedAgentShapeList: {
            next: string | null;
            results: components["schemas"]["AgentShape"][];
        };
        PaginatedCredentialList: {
            next: string | null;
            results: components["schemas"]["Credential"][];
        };
        PaginatedDeliveryList: {
            next: string | null;
            results: components["schemas"]["Delivery"][];
        };
        PaginatedExecutionShapeList: {
            next: string | null;
            results: components["schemas"]["ExecutionShape"][];
        };
        PaginatedFileList: {
            next: string | null;
            results: components["schemas"]["File"][];
        };
        PaginatedGrantList: {
            next: string | null;
            results: components["schemas"]["Grant"][];
        };
        PaginatedKeyList: {
            next: string | null;
            results: components["schemas"]["Key"][];
        };
        PaginatedListingShapeList: {
            next: string | null;
            results: components["schemas"]["ListingShape"][];
        };
        PaginatedNodeExecutionShapeList: {
            next: string | null;
            results: components["schemas"]["NodeExecutionShape"][];
        };
        PaginatedReviewList: {
            next: string | null;
            results: components["schemas"]["Review"][];
        };
        PaginatedScheduleList: {
            next: string | null;
            results: components["schemas"]["Schedule"][];
        };
        PaginatedSessionShapeList: {
            next: string | null;
            results: components["schemas"]["SessionShape"][];
        };
        PaginatedToolServerList: {
            next: string | null;
            results: components["schemas"]["ToolServer"][];
        };
        PaginatedTriggerList: {
            next: string | null;
            results: components["schemas"]["Trigger"][];
        };
        PaginatedVersionShapeList: {
            next: string | null;
            results: components["schemas"]["VersionShape"][];
        };
        PaginatedWebhookDeliveryList: {
            next: string | null;
            results: components["schemas"]["WebhookDelivery"][];
        };
        PaginatedWebhookEndpointList: {
            next: string | null;
            results: components["schemas"]["WebhookEndpoint"][];
        };
        PartsShape: {
            added: {
                [key: string]: unknown;
            }[];
            changed: components["schemas"]["ChangedShape"][];
            removed: {
                [key: string]: unknown;
            }[];
        };
        PatchedAgentChange: {
            description?: string;
            graph?: unknown;
            name?: string;
            /** @default  */
            note: string;
            on_version?: number;
        };
        PatchedCredentialChangeForm: {
            api_key?: string;
            ca_certificate?: string;
            /** Format: date-time */
            expires_at?: string;
            headers?: {
                [key: string]: string;
            };
            host?: string;
            password?: string;
            port?: number | null;
            title?: string;
            username?: string;
        };
        PatchedKey: {
            allowed_models?: string[] | null;
            allowed_tools?: string[] | null;
            /** Format: date-time */
            readonly created_at?: string;
            /** Format: decimal */
            day_limit?: string | null;
            /** Format: uuid */
            readonly id?: string;
            /** Format: date-time */
            readonly last_used_at?: string | null;
            /** Format: decimal */
            month_limit?: string | null;
            name?: string;
            readonly prefix?: string;
            /** Format: int64 */
            requests_per_minute?: number | null;
        };
        PatchedMe: {
            readonly admin_url?: string;
            /** Format: date-time */
            readonly date_joined?: string;
            email?: string;
            instructions?: string;
            readonly is_staff?: boolean;
            readonly limits?: components["schemas"]["AccountLimits"];
            model?: string;
            theme?: components["schemas"]["ThemeEnum"];
            time_zone?: string;
            readonly username?: string;
        };
        PatchedNotificationSettingsShape: {
            all_devices?: boolean;
            answers?: boolean;
            questions?: boolean;
            /** Format: time */
            quiet_from?: string | null;
            /** Format: time */
            quiet_until?: string | null;
            reviews?: boolean;
            runs?: boolean;
        };
        PatchedRename: {
            path?: string;
        };
        PatchedScheduleChangeForm: {
            /** Format: uuid */
            readonly agent_id?: string;
            readonly agent_name?: string;
            readonly agent_removed?: boolean;
            /** Format: date-time */
            readonly created_at?: string;
            cron?: string;
            enabled?: boolean;
            /** Format: uuid */
            readonly id?: string;
            inputs?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            readonly last_due_at?: string | null;
            readonly last_error?: string | null;
            /** Format: uuid */
            readonly last_execution_id?: string | null;
            name?: string;
            /** Format: date-time */
            readonly next_run_at?: string | null;
            /** Format: uuid */
            readonly session_id?: string | null;
            timezone?: string;
            version?: number | null;
            readonly words?: string | null;
        };
        PatchedServerChangeForm: {
            auth?: components["schemas"]["AuthEnum"];
            enabled?: boolean;
            key?: string;
            key_header?: string;
            title?: string;
            url?: string;
        };
        PatchedSessionChange: {
            model?: string | null;
            pinned?: boolean;
            title?: string;
        };
        PatchedToolChangeForm: {
            lowered_effect?: string;
            pinned?: boolean;
        };
        PatchedTriggerChangeForm: {
            /** Format: uuid */
            readonly agent_id?: string;
            readonly agent_name?: string;
            readonly agent_removed?: boolean;
            /** Format: date-time */
            readonly called_at?: string | null;
            /** Format: date-time */
            readonly created_at?: string;
            enabled?: boolean;
            /** Format: uuid */
            readonly id?: string;
            inputs?: {
                [key: string]: unknown;
            };
            name?: string;
            node_id?: string;
            /** Format: date-time */
            readonly old_secret_until?: string | null;
            scheme?: components["schemas"]["SchemeEnum"];
            secret?: string;
            readonly url?: string;
            version?: number | null;
        };
        PatchedTurnChange: {
            message?: string;
            while_running?: components["schemas"]["WhileRunningEnum"];
        };
        PatchedWebhookEndpoint: {
            /** Format: date-time */
            readonly created_at?: string;
            description?: string;
            readonly disabled_reason?: string;
            enabled?: boolean;
            /**
             * @default [
             *       "turn.finished",
             *       "operation.finished",
             *       "execution.finished"
             *     ]
             */
            events: components["schemas"]["EventsEnum"][];
            /** Format: date-time */
            readonly failing_since?: string | null;
            /** Format: uuid */
            readonly id?: string;
            url?: string;
        };
        PinOrder: {
            /** Format: uuid */
            execution_id?: string;
            outputs?: unknown[][];
        };
        ProblemShape: {
            block?: components["schemas"]["MissingBlockShape"];
            code: string;
            message: string;
            node_id?: string;
            pin?: string;
            sub_agent?: string;
        };
        ProposalAnswer: {
            key: string;
        };
        ProposalShape: {
            base: {
                [key: string]: unknown;
            };
            graph: {
                [key: string]: unknown;
            };
            key: string;
            summary: string;
        };
        ProviderList: {
            next: string | null;
            results: components["schemas"]["ProviderShape"][];
        };
        ProviderShape: {
            name: string;
            scopes: string[];
            title: string;
        };
        Publication: {
            /** Format: uuid */
            agent_id: string;
            categories?: string[];
            /** @default  */
            description: string;
            /** @default  */
            name: string;
            /** @default  */
            slug: string;
        };
        PublishOrder: {
            /** @default  */
            note: string;
            revision: number;
        };
        PushKeys: {
            auth: string;
            p256dh: string;
        };
        PushState: {
            public_key: string;
            subscriptions: components["schemas"]["PushSubscriptionShape"][];
        };
        PushSubscriptionShape: {
            /** Format: date-time */
            readonly created_at: string;
            readonly host: string;
            /** Format: uuid */
            readonly id: string;
            readonly name: string;
            /** Format: date-time */
            readonly used_at: string;
        };
        QueuedTurnShape: {
            /** Format: uuid */
            absorbed_by: string | null;
            /** Format: uuid */
            readonly answer_id: string;
            readonly attempt: number;
            readonly client_id: string | null;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly kind: components["schemas"]["TurnKindEnum"];
            readonly message: components["schemas"]["InputShape"] | null;
            readonly model: string;
            /** Format: date-time */
            readonly queued_at: string;
            /** Format: uuid */
            session_id: string;
            /** Format: date-time */
            readonly started_at: string | null;
            status: components["schemas"]["JobStatusEnum"];
            usage: components["schemas"]["TurnUsage"];
            while_running: components["schemas"]["WhileRunningEnum"];
        };
        /** @enum {string} */
        RememberEnum: "session" | "always";
        RetryOrder: {
            client_id?: string | null;
            /** @default false */
            draft: boolean;
        };
        Review: {
            /** Format: uuid */
            agent_id?: string | null;
            agent_name?: string | null;
            answer_schema: unknown;
            /** Format: date-time */
            readonly asked_at: string;
            readonly block_id: string;
            data: unknown;
            /** Format: date-time */
            readonly decided_at: string | null;
            decided_by?: string | null;
            decided_data: unknown;
            readonly editable: boolean;
            /** Format: uuid */
            readonly execution_id: string | null;
            /** Format: date-time */
            readonly expires_at: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly message: string;
            readonly name: string;
            /** Format: uuid */
            node_execution_id: string | null;
            node_id?: string | null;
            outside_sources: string[];
            readonly remember: components["schemas"]["RememberEnum"] | components["schemas"]["BlankEnum"];
            /** Format: uuid */
            readonly session_id: string | null;
            readonly state: components["schemas"]["ReviewStateEnum"];
            readonly tool_name: string;
        };
        /** @enum {string} */
        ReviewStateEnum: "waiting" | "approved" | "rejected" | "expired" | "withdrawn";
        /** @enum {string} */
        RoleEnum: "user" | "assistant";
        RollBack: {
            version: number;
        };
        RotateForm: {
            /**
             * Format: double
             * @default 86400
             */
            grace_seconds: number;
            /** @default  */
            secret: string;
            what: components["schemas"]["WhatEnum"];
        };
        RunAnswer: {
            /** Format: uuid */
            execution_id: string;
            status: string;
        };
        RunForm: {
            /** @default  */
            client_id: string;
        };
        Schedule: {
            /** Format: uuid */
            agent_id: string;
            readonly agent_name: string;
            readonly agent_removed: boolean;
            /** Format: date-time */
            readonly created_at: string;
            cron: string;
            enabled?: boolean;
            /** Format: uuid */
            readonly id: string;
            inputs?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            readonly last_due_at: string | null;
            readonly last_error: string | null;
            /** Format: uuid */
            readonly last_execution_id: string | null;
            name: string;
            /** Format: date-time */
            readonly next_run_at: string | null;
            /** Format: uuid */
            readonly session_id: string | null;
            timezone?: string;
            version?: number | null;
            readonly words: string | null;
        };
        /** @enum {string} */
        SchemeEnum: "none" | "standard_webhooks" | "hmac_sha256";
        /** @enum {string} */
        ScopeEnum: "person" | "group" | "site";
        ServerForm: {
            /** @default none */
            auth: components["schemas"]["AuthEnum"];
            group?: string | null;
            /** @default  */
            key: string;
            /** @default Authorization */
            key_header: string;
            name?: string;
            /** @default person */
            scope: components["schemas"]["ScopeEnum"];
            /** @default  */
            title: string;
            url: string;
        };
        ServerTool: {
            /** Format: date-time */
            readonly approved_at: string | null;
            readonly description: string;
            readonly difference: string;
            readonly effect: components["schemas"]["EffectEnum"];
            /** Format: uuid */
            readonly id: string;
            readonly known_as: string;
            lowered_effect: string;
            readonly name: string;
            readonly offered_digest: string;
            readonly pinned: boolean;
            readonly state: components["schemas"]["ServerToolStateEnum"];
            readonly title: string;
        };
        /** @enum {string} */
        ServerToolStateEnum: "approved" | "changed" | "new" | "gone";
        SessionDetail: {
            /** Format: date-time */
            readonly active_at: string;
            active_turn: components["schemas"]["TurnShape"] | null;
            /** Format: uuid */
            before: string | null;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: uuid */
            forked_from: string | null;
            /** Format: uuid */
            readonly id: string;
            messages: components["schemas"]["MessageShape"][];
            readonly model: string;
            readonly needs_you: boolean;
            /** Format: uuid */
            parent: string | null;
            readonly permissions: unknown;
            readonly pinned: boolean;
            queued_turns: components["schemas"]["QueuedTurnShape"][];
            readonly status: components["schemas"]["SessionStatusEnum"];
            readonly title: string;
            readonly unread: boolean;
        };
        SessionOrder: {
            /** Format: uuid */
            session_id: string;
        };
        SessionShape: {
            /** Format: date-time */
            readonly active_at: string;
            /** Format: date-time */
            readonly created_at: string;
            /** Format: uuid */
            forked_from: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly model: string;
            readonly needs_you: boolean;
            /** Format: uuid */
            parent: string | null;
            readonly permissions: unknown;
            readonly pinned: boolean;
            readonly status: components["schemas"]["SessionStatusEnum"];
            readonly title: string;
            readonly unread: boolean;
        };
        /** @enum {string} */
        SessionStatusEnum: "idle" | "queued" | "running";
        Shown: {
            /** Format: uuid */
            agent_id: string;
            readonly agent_name: string;
            readonly agent_removed: boolean;
            /** Format: date-time */
            readonly called_at: string | null;
            /** Format: date-time */
            readonly created_at: string;
            enabled?: boolean;
            /** Format: uuid */
            readonly id: string;
            inputs?: {
                [key: string]: unknown;
            };
            name: string;
            node_id?: string;
            /** Format: date-time */
            readonly old_secret_until: string | null;
            scheme?: components["schemas"]["SchemeEnum"];
            secret: string;
            url: string;
            version?: number | null;
        };
        SignInUrl: {
            url: string;
        };
        SubAgentShape: {
            /** Format: uuid */
            id: string;
            version: number;
        };
        Taken: {
            effect: boolean;
            /** Format: uuid */
            operation_id: string;
            status: string;
        };
        TestForm: {
            payload?: {
                [key: string]: unknown;
            };
        };
        /** @enum {string} */
        ThemeEnum: "system" | "light" | "dark";
        ToolAgentCard: {
            /** @default true */
            can_run: boolean;
            description: string;
            inputs: {
                [key: string]: unknown;
            };
            /** @default null */
            library_agent_id: string | null;
            link: string;
            name: string;
            outputs: {
                [key: string]: unknown;
            };
            source: string;
            /** @default null */
            username_agent_slug: string | null;
            version: number;
        };
        ToolAgentDetails: {
            agent: components["schemas"]["ToolAgentCard"];
            input_schema: {
                [key: string]: unknown;
            };
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default agent_details
             * @enum {string}
             */
            type: "agent_details";
        };
        ToolAgentOutput: {
            agent_name: string;
            /** @default null */
            available_executions: components["schemas"]["ToolListedExecution"][] | null;
            execution: components["schemas"]["ToolExecutionCard"];
            library_agent_id: string;
            /** @default null */
            library_agent_link: string | null;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /** @default 1 */
            total_executions: number;
            /**
             * @default agent_output
             * @enum {string}
             */
            type: "agent_output";
        };
        ToolAgentPreview: {
            agent_json: {
                [key: string]: unknown;
            };
            agent_name: string;
            description: string;
            fixes: string[];
            link_count: number;
            message: string;
            /** @default  */
            next_step: string;
            node_count: number;
            notes: string[];
            /** @default null */
            session_id: string | null;
            similar_agents: components["schemas"]["ToolAgentCard"][];
            /**
             * @default agent_preview
             * @enum {string}
             */
            type: "agent_preview";
        };
        ToolAgentProposed: {
            agent_id: string;
            agent_name: string;
            fixes: string[];
            link_count: number;
            message: string;
            /** @default  */
            next_step: string;
            node_count: number;
            notes: string[];
            /** @default null */
            session_id: string | null;
            /**
             * @default agent_proposed
             * @enum {string}
             */
            type: "agent_proposed";
        };
        ToolAgentSaved: {
            agent_id: string;
            agent_name: string;
            agent_page_link: string;
            fixes: string[];
            inputs: {
                [key: string]: unknown;
            };
            library_agent_id: string;
            library_agent_link: string;
            link_count: number;
            message: string;
            /** @default  */
            next_step: string;
            node_count: number;
            notes: string[];
            outputs: {
                [key: string]: unknown;
            };
            /** @default null */
            session_id: string | null;
            similar_agents: components["schemas"]["ToolAgentCard"][];
            /**
             * @default agent_saved
             * @enum {string}
             */
            type: "agent_saved";
            version: number;
        };
        ToolAgentsFound: {
            agents: components["schemas"]["ToolAgentCard"][];
            count: number;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default agents_found
             * @enum {string}
             */
            type: "agents_found";
        };
        ToolBashResult: {
            exit_code: number;
            files: components["schemas"]["ToolFileInfo"][];
            files_left_out: string[];
            killed_reason: string | null;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            stderr: string;
            stdout: string;
            timed_out: boolean;
            truncated: boolean;
            /**
             * @default bash_exec
             * @enum {string}
             */
            type: "bash_exec";
        };
        ToolBlockCard: {
            /** @default false */
            asks_first: boolean;
            can_run_alone: boolean;
            category: string;
            description: string;
            id: string;
            inputs: {
                [key: string]: unknown;
            };
            name: string;
            /** @default null */
            needs_credentials: string | null;
            outputs: {
                [key: string]: unknown;
            };
            required: string[];
        };
        ToolBlockDetails: {
            block: components["schemas"]["ToolBlockCard"];
            input_schema: {
                [key: string]: unknown;
            };
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default block_details
             * @enum {string}
             */
            type: "block_details";
        };
        ToolBlockOutput: {
            block_id: string;
            block_name: string;
            cost: string;
            message: string;
            /** @default  */
            next_step: string;
            outputs: {
                [key: string]: unknown[];
            };
            /** @default null */
            session_id: string | null;
            /**
             * @default block_output
             * @enum {string}
             */
            type: "block_output";
        };
        ToolBuildingGuide: {
            blocks: {
                [key: string]: string;
            };
            example: string;
            format: string;
            message: string;
            /** @default  */
            next_step: string;
            rules: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default agent_building_guide
             * @enum {string}
             */
            type: "agent_building_guide";
            workflow: string;
        };
        ToolClarification: {
            message: string;
            /** @default  */
            next_step: string;
            questions: components["schemas"]["ToolQuestion"][];
            /** @default null */
            session_id: string | null;
            /**
             * @default clarification_needed
             * @enum {string}
             */
            type: "clarification_needed";
        };
        ToolClarificationNeeded: {
            message: string;
            /** @default  */
            next_step: string;
            questions: {
                [key: string]: unknown;
            }[];
            /** @default null */
            session_id: string | null;
            /**
             * @default clarification_needed
             * @enum {string}
             */
            type: "clarification_needed";
        };
        ToolCredentialList: {
            /** @default /library/credentials */
            link: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            stored: {
                [key: string]: unknown;
            }[];
            /**
             * @default credentials_found
             * @enum {string}
             */
            type: "credentials_found";
        };
        ToolDecomposition: {
            goal: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default true */
            requires_approval: boolean;
            /** @default null */
            session_id: string | null;
            step_count: number;
            steps: components["schemas"]["ToolNumberedStep"][];
            /**
             * @default task_decomposition
             * @enum {string}
             */
            type: "task_decomposition";
        };
        ToolDocPage: {
            content: string;
            message: string;
            /** @default  */
            next_step: string;
            path: string;
            sections: string[];
            /** @default null */
            session_id: string | null;
            title: string;
            /**
             * @default doc_page
             * @enum {string}
             */
            type: "doc_page";
        };
        ToolDocSearchResults: {
            count: number;
            message: string;
            /** @default  */
            next_step: string;
            results: components["schemas"]["ToolFoundSection"][];
            /** @default null */
            session_id: string | null;
            /**
             * @default doc_search_results
             * @enum {string}
             */
            type: "doc_search_results";
        };
        ToolExecutionCard: {
            cost: string;
            /** @default null */
            ended_at: string | null;
            /** @default null */
            error: string | null;
            execution_id: string;
            inputs: {
                [key: string]: unknown;
            };
            link: string;
            /** @default null */
            nodes: {
                [key: string]: unknown;
            }[] | null;
            outputs: {
                [key: string]: unknown;
            };
            queued_at: string;
            /** @default null */
            reviews: {
                [key: string]: unknown;
            }[] | null;
            /** @default null */
            started_at: string | null;
            status: string;
            version: number;
        };
        ToolExecutionStarted: {
            agent_name: string;
            /** @default null */
            cron: string | null;
            /** @default null */
            execution_id: string | null;
            library_agent_id: string;
            library_agent_link: string;
            message: string;
            /** @default null */
            next_run_at: string | null;
            /** @default  */
            next_step: string;
            /** @default false */
            notify: boolean;
            /** @default null */
            reviews: {
                [key: string]: unknown;
            }[] | null;
            /** @default null */
            schedule_id: string | null;
            /** @default null */
            session_id: string | null;
            status: string;
            /**
             * @default execution_started
             * @enum {string}
             */
            type: "execution_started";
        };
        ToolFeatureRequestCreated: {
            is_new: boolean;
            message: string;
            /** @default  */
            next_step: string;
            request_id: string;
            /** @default null */
            session_id: string | null;
            supporters: number;
            title: string;
            /**
             * @default feature_request_created
             * @enum {string}
             */
            type: "feature_request_created";
        };
        ToolFeatureRequestSearch: {
            count: number;
            message: string;
            /** @default  */
            next_step: string;
            results: components["schemas"]["ToolFoundRequest"][];
            /** @default null */
            session_id: string | null;
            /**
             * @default feature_request_search
             * @enum {string}
             */
            type: "feature_request_search";
        };
        ToolFileContent: {
            content: string;
            file: components["schemas"]["ToolFileInfo"];
            message: string;
            next_offset: number | null;
            /** @default  */
            next_step: string;
            offset: number;
            /** @default null */
            session_id: string | null;
            /**
             * @default workspace_file_content
             * @enum {string}
             */
            type: "workspace_file_content";
        };
        ToolFileDeleted: {
            file: components["schemas"]["ToolFileInfo"];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default workspace_file_deleted
             * @enum {string}
             */
            type: "workspace_file_deleted";
        };
        ToolFileInfo: {
            file_id: string;
            media_type: string;
            path: string;
            reference: string;
            size: number;
        };
        ToolFileList: {
            files: components["schemas"]["ToolFileInfo"][];
            message: string;
            more: boolean;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default workspace_file_list
             * @enum {string}
             */
            type: "workspace_file_list";
        };
        ToolFileMetadata: {
            created_at: string;
            file: components["schemas"]["ToolFileInfo"];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default workspace_file_metadata
             * @enum {string}
             */
            type: "workspace_file_metadata";
        };
        ToolFileWritten: {
            file: components["schemas"]["ToolFileInfo"];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default workspace_file_written
             * @enum {string}
             */
            type: "workspace_file_written";
        };
        ToolFixResult: {
            agent_json: {
                [key: string]: unknown;
            };
            errors: {
                [key: string]: unknown;
            }[];
            fixes: string[];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default fix_result
             * @enum {string}
             */
            type: "fix_result";
            valid: boolean;
        };
        ToolFollowUpCancelled: {
            followup_id: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default followup_cancelled
             * @enum {string}
             */
            type: "followup_cancelled";
        };
        ToolFollowUpList: {
            followups: {
                [key: string]: unknown;
            }[];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default followup_list
             * @enum {string}
             */
            type: "followup_list";
        };
        ToolFollowUpScheduled: {
            followup: {
                [key: string]: unknown;
            };
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default followup_scheduled
             * @enum {string}
             */
            type: "followup_scheduled";
        };
        ToolFoundBlocks: {
            blocks: components["schemas"]["ToolBlockCard"][];
            count: number;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default block_list
             * @enum {string}
             */
            type: "block_list";
        };
        ToolFoundRequest: {
            description: string;
            id: string;
            status: string;
            supporters: number;
            title: string;
        };
        ToolFoundSection: {
            path: string;
            section: string;
            snippet: string;
            title: string;
        };
        ToolFoundTool: {
            description: string;
            name: string;
            parameters: {
                [key: string]: unknown;
            };
        };
        ToolFoundTools: {
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            tools: components["schemas"]["ToolFoundTool"][];
            /**
             * @default tools_found
             * @enum {string}
             */
            type: "tools_found";
        };
        ToolInputValidationError: {
            input_schema: {
                [key: string]: unknown;
            };
            message: string;
            /** @default  */
            next_step: string;
            problems: {
                [key: string]: string;
            };
            /** @default null */
            session_id: string | null;
            /**
             * @default input_validation_error
             * @enum {string}
             */
            type: "input_validation_error";
        };
        ToolListedExecution: {
            /** @default null */
            ended_at: string | null;
            execution_id: string;
            queued_at: string;
            status: string;
        };
        ToolNumberedStep: {
            /** @default null */
            action: string | null;
            /** @default null */
            block_name: string | null;
            description: string;
            number: number;
            /**
             * @default pending
             * @enum {string}
             */
            status: "pending";
        };
        ToolOperationStatus: {
            /** @default null */
            error: string | null;
            message: string;
            /** @default  */
            next_step: string;
            operation_id: string;
            progress: number;
            /** @default null */
            result: unknown;
            /** @default null */
            session_id: string | null;
            /** @enum {string} */
            status: "running" | "completed" | "failed" | "cancelled";
            task_id: string;
            tool_name: string;
            /**
             * @default operation_status
             * @enum {string}
             */
            type: "operation_status";
        };
        ToolOutcome: {
            error?: string;
            message: string;
            operation_id?: string;
            review_id?: string;
            session_id?: string | null;
            suggestions?: string[];
            tool_name?: string;
            /** @enum {string} */
            type: "error" | "need_login" | "no_results" | "operation_accepted" | "operation_completed" | "operation_in_progress" | "operation_pending" | "operation_started" | "review_required";
        } & {
            [key: string]: unknown;
        };
        ToolPresetDeleted: {
            message: string;
            /** @default  */
            next_step: string;
            preset_id: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default preset_deleted
             * @enum {string}
             */
            type: "preset_deleted";
        };
        ToolPresetList: {
            message: string;
            /** @default  */
            next_step: string;
            presets: {
                [key: string]: unknown;
            }[];
            /** @default null */
            session_id: string | null;
            /**
             * @default preset_list
             * @enum {string}
             */
            type: "preset_list";
        };
        ToolPresetSaved: {
            message: string;
            /** @default  */
            next_step: string;
            preset: {
                [key: string]: unknown;
            };
            /** @default null */
            session_id: string | null;
            /**
             * @default preset_saved
             * @enum {string}
             */
            type: "preset_saved";
        };
        ToolQuestion: {
            /** @default null */
            keyword: string | null;
            /** @default null */
            options: string[] | null;
            question: string;
        };
        ToolResult: components["schemas"]["ToolAgentDetails"] | components["schemas"]["ToolAgentOutput"] | components["schemas"]["ToolAgentPreview"] | components["schemas"]["ToolAgentProposed"] | components["schemas"]["ToolAgentSaved"] | components["schemas"]["ToolAgentsFound"] | components["schemas"]["ToolBashResult"] | components["schemas"]["ToolBlockDetails"] | components["schemas"]["ToolBlockOutput"] | components["schemas"]["ToolBuildingGuide"] | components["schemas"]["ToolClarification"] | components["schemas"]["ToolClarificationNeeded"] | components["schemas"]["ToolCredentialList"] | components["schemas"]["ToolDecomposition"] | components["schemas"]["ToolDocPage"] | components["schemas"]["ToolDocSearchResults"] | components["schemas"]["ToolExecutionStarted"] | components["schemas"]["ToolFeatureRequestCreated"] | components["schemas"]["ToolFeatureRequestSearch"] | components["schemas"]["ToolFileContent"] | components["schemas"]["ToolFileDeleted"] | components["schemas"]["ToolFileList"] | components["schemas"]["ToolFileMetadata"] | components["schemas"]["ToolFileWritten"] | components["schemas"]["ToolFixResult"] | components["schemas"]["ToolFollowUpCancelled"] | components["schemas"]["ToolFollowUpList"] | components["schemas"]["ToolFollowUpScheduled"] | components["schemas"]["ToolFoundBlocks"] | components["schemas"]["ToolFoundTools"] | components["schemas"]["ToolInputValidationError"] | components["schemas"]["ToolOperationStatus"] | components["schemas"]["ToolPresetDeleted"] | components["schemas"]["ToolPresetList"] | components["schemas"]["ToolPresetSaved"] | components["schemas"]["ToolReviewRequired"] | components["schemas"]["ToolScheduleDeleted"] | components["schemas"]["ToolScheduleList"] | components["schemas"]["ToolSetupRequirements"] | components["schemas"]["ToolSubSessionStatus"] | components["schemas"]["ToolSuggestedGoal"] | components["schemas"]["ToolTodosUpdated"] | components["schemas"]["ToolTriggerCreated"] | components["schemas"]["ToolTriggerList"] | components["schemas"]["ToolUnderstandingUpdated"] | components["schemas"]["ToolValidationResult"] | components["schemas"]["ToolWebPage"] | components["schemas"]["ToolWebSearchResults"] | components["schemas"]["ToolOutcome"];
        ToolReviewRequired: {
            block_id: string;
            block_name: string;
            message: string;
            /** @default  */
            next_step: string;
            review_id: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default review_required
             * @enum {string}
             */
            type: "review_required";
        };
        ToolRule: {
            default_rule: string;
            description: string;
            effect: string;
            name: string;
            rule: components["schemas"]["ToolRuleRuleEnum"];
            site_rule: string;
            your_rule: string;
        };
        ToolRuleForm: {
            rule: components["schemas"]["ToolRuleFormRuleEnum"];
        };
        /** @enum {string} */
        ToolRuleFormRuleEnum: "allow" | "ask" | "deny" | "default";
        ToolRuleList: {
            next: string | null;
            results: components["schemas"]["ToolRule"][];
        };
        /** @enum {string} */
        ToolRuleRuleEnum: "allow" | "ask" | "deny";
        ToolScheduleDeleted: {
            message: string;
            name: string;
            /** @default  */
            next_step: string;
            schedule_id: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default schedule_deleted
             * @enum {string}
             */
            type: "schedule_deleted";
        };
        ToolScheduleList: {
            count: number;
            message: string;
            /** @default  */
            next_step: string;
            schedules: {
                [key: string]: unknown;
            }[];
            /** @default null */
            session_id: string | null;
            /**
             * @default schedule_list
             * @enum {string}
             */
            type: "schedule_list";
        };
        ToolServer: {
            readonly auth: components["schemas"]["AuthEnum"];
            readonly can_change: boolean;
            /** Format: date-time */
            readonly created_at: string;
            readonly enabled: boolean;
            group?: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly instructions: string;
            readonly last_error: string;
            /** Format: date-time */
            readonly listed_at: string | null;
            readonly name: string;
            readonly protocol_version: string;
            /** Format: date-time */
            readonly retry_at: string | null;
            scope: components["schemas"]["ScopeEnum"];
            readonly signed_in: boolean;
            readonly status: string;
            readonly title: string;
            tools: components["schemas"]["ServerTool"][];
            readonly url: string;
        };
        ToolSetupRequirements: {
            link: string;
            message: string;
            missing_credentials: {
                [key: string]: unknown;
            }[];
            name: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default setup_requirements
             * @enum {string}
             */
            type: "setup_requirements";
        };
        ToolSubSessionStatus: {
            /** @default null */
            doing: string | null;
            /** @default 0 */
            elapsed_seconds: number;
            /** @default null */
            error: string | null;
            link: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default false */
            notify: boolean;
            /** @default  */
            response: string;
            /** @default null */
            session_id: string | null;
            /** @enum {string} */
            status: "running" | "completed" | "failed" | "cancelled";
            sub_session_id: string;
            /** @default  */
            title: string;
            tool_calls?: {
                [key: string]: unknown;
            }[];
            turn_id: string;
            /**
             * @default sub_session_status
             * @enum {string}
             */
            type: "sub_session_status";
            usage?: {
                [key: string]: unknown;
            };
        };
        ToolSuggestedGoal: {
            goal_type: string;
            message: string;
            /** @default  */
            next_step: string;
            original_goal: string;
            reason: string;
            /** @default null */
            session_id: string | null;
            suggested_goal: string;
            /**
             * @default suggested_goal
             * @enum {string}
             */
            type: "suggested_goal";
        };
        ToolTodosUpdated: {
            done: number;
            items: {
                [key: string]: unknown;
            }[];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default todo_list
             * @enum {string}
             */
            type: "todo_list";
        };
        ToolTriggerCreated: {
            /** @default /library/triggers */
            link: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            trigger: {
                [key: string]: unknown;
            };
            /**
             * @default trigger_created
             * @enum {string}
             */
            type: "trigger_created";
        };
        ToolTriggerList: {
            /** @default /library/triggers */
            link: string;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            triggers: {
                [key: string]: unknown;
            }[];
            /**
             * @default trigger_list
             * @enum {string}
             */
            type: "trigger_list";
        };
        ToolUnderstandingUpdated: {
            current_understanding: {
                [key: string]: string | string[];
            };
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default understanding_updated
             * @enum {string}
             */
            type: "understanding_updated";
            updated_fields: string[];
        };
        ToolValidationResult: {
            error_count: number;
            errors: {
                [key: string]: unknown;
            }[];
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            /**
             * @default validation_result
             * @enum {string}
             */
            type: "validation_result";
            valid: boolean;
            warnings: {
                [key: string]: unknown;
            }[];
        };
        ToolWebPage: {
            content: string;
            content_type: string;
            extracted_text: boolean;
            /** @default null */
            file: string | null;
            message: string;
            /** @default  */
            next_step: string;
            /** @default null */
            session_id: string | null;
            status_code: number;
            /** @default  */
            title: string;
            truncated: boolean;
            /**
             * @default web_fetch
             * @enum {string}
             */
            type: "web_fetch";
            url: string;
        };
        ToolWebSearchResults: {
            message: string;
            /** @default  */
            next_step: string;
            query: string;
            results: components["schemas"]["ToolWebSource"][];
            /** @default null */
            session_id: string | null;
            /**
             * @default web_search
             * @enum {string}
             */
            type: "web_search";
        };
        ToolWebSource: {
            snippet: string;
            title: string;
            url: string;
        };
        Trigger: {
            /** Format: uuid */
            agent_id: string;
            readonly agent_name: string;
            readonly agent_removed: boolean;
            /** Format: date-time */
            readonly called_at: string | null;
            /** Format: date-time */
            readonly created_at: string;
            enabled?: boolean;
            /** Format: uuid */
            readonly id: string;
            inputs?: {
                [key: string]: unknown;
            };
            name: string;
            node_id?: string;
            /** Format: date-time */
            readonly old_secret_until: string | null;
            scheme?: components["schemas"]["SchemeEnum"];
            secret?: string;
            readonly url: string;
            version?: number | null;
        };
        /** @enum {string} */
        TriggerEnum: "submit-message" | "regenerate-message";
        TurnAnswer: {
            turn: components["schemas"]["TurnShape"];
        };
        /** @enum {string} */
        TurnKindEnum: "message" | "continuation";
        TurnShape: {
            /** Format: uuid */
            absorbed_by: string | null;
            /** Format: uuid */
            readonly answer_id: string;
            readonly attempt: number;
            readonly client_id: string | null;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            /** Format: uuid */
            readonly id: string;
            readonly kind: components["schemas"]["TurnKindEnum"];
            readonly model: string;
            /** Format: date-time */
            readonly queued_at: string;
            /** Format: uuid */
            session_id: string;
            /** Format: date-time */
            readonly started_at: string | null;
            status: components["schemas"]["JobStatusEnum"];
            usage: components["schemas"]["TurnUsage"];
            while_running: components["schemas"]["WhileRunningEnum"];
        };
        TurnUsage: {
            cached_tokens: number;
            /** Format: decimal */
            cost: string;
            input_tokens: number;
            output_tokens: number;
            reasoning_tokens: number;
        };
        Upload: {
            /** Format: uri */
            file: string;
            /** @default false */
            overwrite: boolean;
            path?: string;
            /** Format: uuid */
            session_id?: string;
        };
        Usage: {
            /** Format: double */
            cost: number;
            /** Format: double */
            credits: number;
            input_tokens: number;
            output_tokens: number;
        };
        UsageAnswer: {
            budget: components["schemas"]["BudgetState"];
            days: components["schemas"]["Day"][];
            totals: components["schemas"]["Usage"];
        };
        ValidationShape: {
            errors: components["schemas"]["ProblemShape"][];
            valid: boolean;
            warnings: components["schemas"]["ProblemShape"][];
        };
        VersionDetail: {
            /** Format: date-time */
            readonly created_at: string;
            graph: {
                [key: string]: unknown;
            };
            input_schema: {
                [key: string]: unknown;
            };
            readonly note: string;
            output_schema: {
                [key: string]: unknown;
            };
            sub_agents: {
                [key: string]: unknown;
            }[];
            valid: boolean;
            validation: components["schemas"]["ValidationShape"];
            readonly version: number;
        };
        VersionShape: {
            /** Format: date-time */
            readonly created_at: string;
            readonly note: string;
            valid: boolean;
            readonly version: number;
        };
        WebhookDelivery: {
            /** Format: date-time */
            created_at: string;
            readonly end_reason: string | null;
            /** Format: date-time */
            readonly ended_at: string | null;
            readonly error: string | null;
            readonly event_id: string;
            readonly event_type: components["schemas"]["EventTypeEnum"];
            /** Format: uuid */
            readonly id: string;
            /** Format: date-time */
            next_try_at: string | null;
            payload: unknown;
            readonly response_excerpt: string;
            readonly response_status: number | null;
            readonly status: string;
            /** Format: date-time */
            readonly tried_at: string | null;
            readonly tries: number;
        };
        WebhookEndpoint: {
            /** Format: date-time */
            readonly created_at: string;
            description?: string;
            readonly disabled_reason: string;
            enabled?: boolean;
            /**
             * @default [
             *       "turn.finished",
             *       "operation.finished",
             *       "execution.finished"
             *     ]
             */
            events: components["schemas"]["EventsEnum"][];
            /** Format: date-time */
            readonly failing_since: string | null;
            /** Format: uuid */
            readonly id: string;
            url: string;
        };
        WebsocketTicket: {
            ticket: string;
        };
        /** @enum {string} */
        WhatEnum: "address" | "secret";
        /** @enum {string} */
        WhileRunningEnum: "queue" | "steer" | "interrupt" | "reject";
        WishForm: {
            /** Format: uuid */
            credential_id?: string;
            /** @default  */
            next: string;
            scopes?: string[];
            /** @default  */
            title: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
