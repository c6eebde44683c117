ddl_tool(ddl-model ddl::model ddl::cli)
